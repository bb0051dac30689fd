"""From stored bytes to what a network takes: scaling, and the usual augmentation of CIFAR-10."""

from __future__ import annotations

import torch
from torch import Tensor

_CIFAR_MEAN = (0.4914, 0.4822, 0.4465)
_CIFAR_STD = (0.2470, 0.2435, 0.2616)


def normalise(images: Tensor) -> Tensor:
    """uint8 [n, H, W] or [n, H, W, 3] -> float32 [n, C, H, W]: mean 0.5 and std 0.5, or CIFAR-10's own for colour."""
    if images.dim() == 3:
        return images.unsqueeze(1).float().div_(127.5).sub_(1.0)
    mean, std = (torch.tensor(values, device=images.device).view(1, 3, 1, 1) for values in (_CIFAR_MEAN, _CIFAR_STD))
    return images.permute(0, 3, 1, 2).float().div_(255.0).sub_(mean).div_(std)


def flip_and_crop(images: Tensor, generator: torch.Generator, padding: int = 4) -> Tensor:
    """Flip each of uint8 [n, H, W, 3] left to right with probability 1/2, then crop it out of a frame of zeros."""
    number, height, width = images.shape[:3]
    device = images.device
    flip = torch.rand(number, generator=generator).lt(0.5).to(device)
    flipped = torch.where(flip.view(-1, 1, 1, 1), images.flip(2), images)
    padded = torch.nn.functional.pad(flipped, (0, 0, padding, padding, padding, padding))
    top, left = torch.randint(2 * padding + 1, (2, number, 1), generator=generator).to(device)
    rows = (top + torch.arange(height, device=device)).unsqueeze(2)
    columns = (left + torch.arange(width, device=device)).unsqueeze(1)
    return padded[torch.arange(number, device=device).view(-1, 1, 1), rows, columns]
