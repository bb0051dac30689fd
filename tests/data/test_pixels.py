"""Scaling and augmentation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from nslimb.data.pixels import default_augment, flip_and_crop, normalise, prepare, random_affine, warp
from nslimb.errors import InvalidInput


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_colour_is_scaled_as_the_source_says() -> None:
    images = torch.randint(256, (4, 5, 6, 3), dtype=torch.uint8, generator=seeded())
    half = (images.double() / 255 - 0.5) / 0.5
    torch.testing.assert_close(normalise(images, "half"), half.permute(0, 3, 1, 2).float())
    mean, std = torch.tensor([0.4914, 0.4822, 0.4465]), torch.tensor([0.2470, 0.2435, 0.2616])
    usual = ((images.double() / 255 - mean) / std).permute(0, 3, 1, 2).float()
    torch.testing.assert_close(normalise(images, "cifar10"), usual)
    assert torch.equal(normalise(images), normalise(images, "half"))  # CIFAR-10's statistics are for CIFAR-10
    grey = images[..., 0]
    torch.testing.assert_close(normalise(grey), half[..., 0].unsqueeze(1).float())
    assert torch.equal(normalise(grey), normalise(grey, "half"))


def test_impossible_scalings_and_augmentations_are_refused() -> None:
    grey = torch.zeros(1, 4, 4, dtype=torch.uint8)
    with pytest.raises(InvalidInput, match="normalisation: expected one of auto, half, cifar10, none, got 'imagenet'"):
        normalise(grey, "imagenet")
    with pytest.raises(InvalidInput, match="normalisation: expected half, for grey images, got 'cifar10'"):
        normalise(grey, "cifar10")
    with pytest.raises(InvalidInput, match="augment: expected one of none, affine, flip-crop, got 'mixup'"):
        prepare(grey, "mixup", seeded())


def test_only_cifar10_is_augmented_unasked() -> None:
    assert [default_augment(name) for name in ("cifar10", "mnist", "hwf", "mnist5k", "./cifar10", "my/images")] == [
        "flip-crop",
        *["none"] * 5,
    ]


@pytest.mark.parametrize("shape", [(7, 28, 28), (7, 12, 20, 3)])
def test_prepare_joins_augmentation_and_scaling(shape: tuple[int, ...]) -> None:
    images = torch.randint(256, shape, dtype=torch.uint8, generator=seeded())
    generator = seeded(5)
    before = generator.get_state()
    assert torch.equal(prepare(images, "none", generator, "half"), normalise(images, "half"))
    assert torch.equal(generator.get_state(), before)
    cropped = normalise(flip_and_crop(images, seeded(5)), "half")
    assert torch.equal(prepare(images, "flip-crop", seeded(5), "half"), cropped)
    moved = prepare(images, "affine", seeded(5), "half")
    assert torch.equal(moved, prepare(images, "affine", seeded(5), "half"))
    assert not torch.equal(moved, prepare(images, "affine", seeded(6), "half"))
    assert moved.shape == normalise(images).shape
    assert moved.dtype == torch.float32


def test_grey_images_are_flipped_and_cropped_like_colour() -> None:
    grey = torch.randint(256, (20, 9, 11), dtype=torch.uint8, generator=seeded())
    colour = flip_and_crop(grey.unsqueeze(3).repeat(1, 1, 1, 3), seeded(2))
    assert torch.equal(flip_and_crop(grey, seeded(2)), colour[..., 1])


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(3, 12), st.integers(3, 12), st.booleans())
def test_warp_is_an_affine_map_about_the_centre(seed: int, channels: int, height: int, width: int, mild: bool) -> None:
    rng = np.random.default_rng(seed)
    images = rng.uniform(-1, 1, size=(3, channels, height, width))
    matrices = np.eye(2) + rng.uniform(-0.3, 0.3, size=(3, 2, 2)) * (1 if mild else 2)
    shifts = rng.uniform(-3, 3, size=(3, 2))
    found = warp(*(torch.from_numpy(part) for part in (images, matrices, shifts))).numpy()
    centre = np.array([height - 1, width - 1]) / 2
    for image, matrix, shift, moved in zip(images, matrices, shifts, found, strict=True):
        back = np.linalg.inv(matrix[::-1, ::-1])  # scipy counts rows first, and asks where each output comes from
        offset = centre - back @ (centre + shift[::-1])
        for plane, result in zip(image, moved, strict=True):
            border = np.sort(np.concatenate([plane[0], plane[-1], plane[:, 0], plane[:, -1]]))
            outside = border[len(border) // 2]
            expected = ndimage.affine_transform(plane, back, offset, order=1, mode="grid-constant", cval=outside)
            np.testing.assert_allclose(result, expected, atol=1e-9)


def test_warp_moves_a_point_where_the_map_says() -> None:
    images = torch.zeros(1, 1, 11, 11)
    images[0, 0, 5, 8] = 1.0  # 3 to the right of the centre
    quarter = torch.tensor([[[0.0, -1.0], [1.0, 0.0]]])  # x to y: on a picture, whose y points down, clockwise
    turned = warp(images, quarter, torch.tensor([[1.0, 0.0]]))
    assert turned[0, 0].round(decimals=5).nonzero().tolist() == [[8, 6]]


@pytest.mark.parametrize("paper", [0, 255])
def test_the_background_comes_in_from_outside(paper: int) -> None:
    images = torch.full((50, 28, 28), paper, dtype=torch.uint8)
    images[:, 8:20, 10:18] = 255 - paper
    images[:, 0, 14:16] = 255 - paper  # a stroke that runs off the paper
    moved = prepare(images, "affine", seeded(), "half")
    corners = moved[:, 0, [0, 0, -1, -1], [0, -1, 0, -1]]
    torch.testing.assert_close(corners, torch.full((50, 4), -1.0 if paper == 0 else 1.0))
    assert moved.min() >= -1 - 1e-5
    assert moved.max() <= 1 + 1e-5


def test_random_maps_fill_their_ranges_and_no_more() -> None:
    matrices, shifts = random_affine(20_000, seeded(3))
    determinant = torch.linalg.det(matrices)
    scale = determinant.sqrt()  # turning and shearing keep areas
    angle = torch.atan2(matrices[:, 1, 0], matrices[:, 0, 0]).rad2deg()  # shearing along x keeps the x axis
    unturned = torch.linalg.inv(rotations(angle.deg2rad())) @ matrices / scale.view(-1, 1, 1)
    torch.testing.assert_close(unturned[:, [0, 1], [0, 1]], torch.ones(20_000, 2), atol=1e-4, rtol=0)
    torch.testing.assert_close(unturned[:, 1, 0], torch.zeros(20_000), atol=1e-4, rtol=0)
    for values, centre, reach in (
        (angle, 0.0, 15.0),
        (scale, 1.0, 0.1),
        (unturned[:, 0, 1], 0.0, 0.2),
        (shifts[:, 0], 0.0, 2.0),
        (shifts[:, 1], 0.0, 2.0),
    ):
        away = (values - centre) / reach
        assert away.abs().max() <= 1 + 1e-3
        assert away.max() > 0.99
        assert away.min() < -0.99
        assert abs(away.var() - 1 / 3) < 0.01  # uniform
    together = torch.stack([angle, scale, unturned[:, 0, 1], *shifts.unbind(1)])
    assert (torch.corrcoef(together) - torch.eye(5)).abs().max() < 0.03


def rotations(angle: torch.Tensor) -> torch.Tensor:
    return torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], dim=1).view(-1, 2, 2)


def test_augmented_digits_keep_their_place_and_size() -> None:
    images = torch.zeros(400, 28, 28, dtype=torch.uint8)
    images[:, 9:19, 9:19] = 255
    ink = (prepare(images, "affine", seeded(1), "half")[:, 0] + 1) / 2
    mass = ink.sum(dim=(1, 2))
    along = torch.arange(28) - 13.5
    middle = torch.stack([(ink.sum(1) * along).sum(1), (ink.sum(2) * along).sum(1)]) / mass
    assert middle.abs().max() < 2 + 0.05
    assert mass.max() < 100 * 1.1**2 * 1.02
    assert mass.min() > 100 * 0.9**2 * 0.98
    assert math.isclose(mass.mean(), 100, rel_tol=0.03)
