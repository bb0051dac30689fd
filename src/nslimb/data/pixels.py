"""From stored bytes to what a network takes: scaling, and the augmentations that training may ask for."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from nslimb.errors import InvalidInput

AUGMENTATIONS = ("none", "affine", "flip-crop")
NORMALISATIONS = ("auto", "half", "cifar10", "none")

_CIFAR_MEAN = (0.4914, 0.4822, 0.4465)
_CIFAR_STD = (0.2470, 0.2435, 0.2616)

_ROTATION = math.radians(15)
_SHIFT = 2.0  # pixels
_SCALE = 0.1
_SHEAR = 0.2


def default_augment(source_name: str) -> str:
    """The augmentation that goes with a source: ``flip-crop``, as is usual, for CIFAR-10, none for all others."""
    return "flip-crop" if source_name == "cifar10" else "none"


def prepare(images: Tensor, kind: str, generator: torch.Generator, normalisation: str = "auto") -> Tensor:
    """A training batch: uint8 [n, H, W] or [n, H, W, 3], augmented and scaled -> float32 [n, C, H, W].

    ``kind`` is one of ``AUGMENTATIONS``; random numbers are drawn by ``generator``, on the CPU, so that a seed means
    the same on every device. ``none`` draws none and is ``normalise``.

    Examples
    --------
    >>> digits = torch.zeros(5, 28, 28, dtype=torch.uint8)
    >>> prepare(digits, "affine", torch.Generator().manual_seed(1)).shape
    torch.Size([5, 1, 28, 28])
    """
    if kind not in AUGMENTATIONS:
        raise InvalidInput("augment", f"one of {', '.join(AUGMENTATIONS)}", repr(kind))
    if kind == "flip-crop":
        images = flip_and_crop(images, generator)
    scaled = normalise(images, normalisation)
    return warp(scaled, *random_affine(len(images), generator)) if kind == "affine" else scaled


def normalise(images: Tensor, kind: str = "auto") -> Tensor:
    """uint8, or floats in [0, 1], of shape [n, H, W] or [n, H, W, 3] -> float32 [n, C, H, W].

    ``half``, which is also ``auto``, scales to [0, 1], then takes mean 0.5 and standard deviation 0.5, so that values
    lie in [-1, 1]; ``cifar10`` takes CIFAR-10's mean and deviation of each colour (``ImageSource.normalisation`` says
    which). ``none`` leaves the values as they are.
    """
    if kind not in NORMALISATIONS:
        raise InvalidInput("normalisation", f"one of {', '.join(NORMALISATIONS)}", repr(kind))
    grey = images.dim() == 3
    if grey and kind == "cifar10":
        raise InvalidInput("normalisation", "half, for grey images", repr(kind))
    channels = (images.unsqueeze(1) if grey else images.permute(0, 3, 1, 2)).float()
    if kind == "none":
        return channels
    if images.is_floating_point():
        check_unit_range(images)
        channels = channels * 255.0
    if kind != "cifar10":
        return channels.div_(127.5).sub_(1.0)
    mean, std = (torch.tensor(values, device=images.device).view(1, 3, 1, 1) for values in (_CIFAR_MEAN, _CIFAR_STD))
    return channels.div_(255.0).sub_(mean).div_(std)


def check_unit_range(images: Tensor) -> None:
    """Refuse floats outside [0, 1]: they may mean anything (read on the CPU only)."""
    if images.device.type != "cpu" or images.numel() == 0:
        return
    low, high = (float(bound) for bound in torch.aminmax(images))
    if not (low >= 0 and high <= 1):  # NaN is neither
        expected = (
            "uint8 from 0 to 255, or floats from 0 to 1; values that are scaled already are taken as they are with "
            "normalisation='none'"
        )
        raise InvalidInput("images", expected, f"floats from {low:g} to {high:g}")


def flip_and_crop(images: Tensor, generator: torch.Generator, padding: int = 4) -> Tensor:
    """Flip uint8 [n, H, W] or [n, H, W, 3] left to right with probability 1/2, then crop out of a frame of zeros."""
    number, height, width = images.shape[:3]
    device = images.device
    flip = torch.rand(number, generator=generator).lt(0.5).to(device)
    flipped = torch.where(flip.view(-1, *(1,) * (images.dim() - 1)), images.flip(2), images)
    frame = (padding, padding, padding, padding)
    padded = torch.nn.functional.pad(flipped, frame if images.dim() == 3 else (0, 0, *frame))
    top, left = torch.randint(2 * padding + 1, (2, number, 1), generator=generator).to(device)
    rows = (top + torch.arange(height, device=device)).unsqueeze(2)
    columns = (left + torch.arange(width, device=device)).unsqueeze(1)
    return padded[torch.arange(number, device=device).view(-1, 1, 1), rows, columns]


def random_affine(number: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Maps of the plane for ``warp``: matrices [n, 2, 2] and shifts [n, 2], each drawn uniformly and by itself.

    Turned by up to 15 degrees, enlarged or made smaller by up to 10 %, sheared along x by up to 20 % and shifted by up
    to 2 pixels along each axis.
    """
    angle, scale, shear, *shift = torch.rand(5, number, generator=generator).mul_(2).sub_(1).unbind()
    cos, sin = (angle * _ROTATION).cos(), (angle * _ROTATION).sin()
    turned = torch.stack([cos, -sin, sin, cos], dim=1).view(-1, 2, 2)
    sheared = torch.eye(2).repeat(number, 1, 1)
    sheared[:, 0, 1] = _SHEAR * shear
    return (1 + _SCALE * scale).view(-1, 1, 1) * turned @ sheared, _SHIFT * torch.stack(shift, dim=1)


def warp(images: Tensor, matrices: Tensor, shifts: Tensor) -> Tensor:
    """Move what image b shows at the point p to ``matrices[b] @ p + shifts[b]``, float [n, C, H, W].

    Points (x, y) are pixels from the centre of the image. Values between pixels are bilinear. What comes in from
    outside is the image's own background, the median of its outermost pixels in each channel: black around MNIST's
    digits, white around ink on paper.
    """
    height, width = images.shape[2:]
    # In the units of grid_sample an image is 2 wide and 2 high.
    back = (torch.linalg.inv(matrices) * matrices.new_tensor([[2 / width], [2 / height]])).to(images)
    dx, dy = shifts.to(images).view(-1, 2, 1, 1, 1).unbind(1)
    x = torch.arange(width, device=images.device) - (width - 1) / 2 - dx  # [n, 1, 1, W]
    y = torch.arange(height, device=images.device).view(-1, 1) - (height - 1) / 2 - dy  # [n, 1, H, 1]
    grid = x * back[:, :, 0, None, None] + y * back[:, :, 1, None, None]  # [n, 2, H, W]
    background = _background(images)
    moved = torch.nn.functional.grid_sample(images - background, grid.permute(0, 2, 3, 1), align_corners=False)
    return moved + background


def _background(images: Tensor) -> Tensor:
    """The median of each image's outermost pixels, [n, C, 1, 1]."""
    border = torch.cat([images[:, :, 0], images[:, :, -1], images[:, :, :, 0], images[:, :, :, -1]], dim=2)
    # Sorted, because torch's median has no deterministic form on a GPU.
    return border.sort(dim=2).values[:, :, border.shape[2] // 2, None, None]
