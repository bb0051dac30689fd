"""Images as the training loop reads them: an array that is on the device, or a torch Dataset read batch by batch."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nslimb.errors import InvalidInput

_LAYOUTS = "[N, H, W], [N, H, W, 3] or [N, 3, H, W]"


class Dataset(Protocol):
    """What is needed of a torch Dataset: images by number, each alone or first in a tuple."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


Images: TypeAlias = NDArray[Any] | Dataset  # uint8 or floats [N, H, W] or [N, H, W, 3], or a data set of such


class Streamed:
    """A Dataset's images, read when they are asked for: ``streamed[indices]`` is a tensor on the device."""

    def __init__(self, dataset: Dataset, device: torch.device) -> None:
        self.dataset, self.device = dataset, device
        self.shape = (len(dataset), *self[torch.zeros(1, dtype=torch.int64)].shape[1:])

    def __getitem__(self, indices: Tensor) -> Tensor:
        numbers = indices.tolist()
        read = getattr(self.dataset, "__getitems__", None)
        items = read(numbers) if read is not None else [self.dataset[number] for number in numbers]
        try:
            stacked = torch.stack([_pixels(item) for item in items])
        except RuntimeError as error:
            raise InvalidInput("images", "images of one size and dtype in a data set", str(error)) from error
        return channels_last(stacked).to(self.device)


def on_device(images: Images, device: torch.device) -> Tensor | Streamed:
    """Images to be indexed by tensors: an array moves to the device as a whole, a data set stays where it is."""
    return torch.from_numpy(images).to(device) if isinstance(images, np.ndarray) else Streamed(images, device)


def channels_last(images: Tensor) -> Tensor:
    """Grey images as [N, H, W] and coloured ones as [N, H, W, 3], from either order of channels."""
    if images.dim() == 4 and images.shape[-1] not in (1, 3) and images.shape[1] in (1, 3):
        images = images.permute(0, 2, 3, 1)
    if images.dim() == 4 and images.shape[-1] == 1:
        images = images.squeeze(-1)
    if images.dim() != 3 and not (images.dim() == 4 and images.shape[-1] == 3):
        raise InvalidInput("images", f"grey or coloured images {_LAYOUTS}", f"shape {list(images.shape)}")
    return as_pixels(images)


def as_pixels(images: Tensor) -> Tensor:
    """Values as uint8 or floats, by what their dtype and range mean."""
    if images.is_floating_point():
        return images.float()
    if images.dtype == torch.bool:
        return images.float()
    if images.dtype == torch.uint8:
        return images
    if images.is_complex() or (images.numel() and not (int(images.min()) >= 0 and int(images.max()) <= 255)):
        raise InvalidInput("images", "whole numbers from 0 to 255, or floats from 0 to 1", f"{images.dtype} beyond")
    return images.to(torch.uint8)


def _pixels(item: Any) -> Tensor:
    """One image of a data set; what else stands beside it is not looked at."""
    image = item[0] if isinstance(item, (tuple, list)) else item
    return image if isinstance(image, Tensor) else torch.from_numpy(np.array(image))
