"""Draw the images of this example into shapes/, a sub-folder for each class; yours are photographs."""

import math
import random
from pathlib import Path

from PIL import Image, ImageDraw

SIZE, EACH = 28, 100
CORNERS = {"square": 4, "triangle": 3, "star": 5}


def draw(shape, rng):
    """One shape at a random place, in a random size, turn and thickness, on noisy paper."""
    image = Image.new("L", (SIZE, SIZE))
    image.putdata([rng.randrange(60) for _ in range(SIZE * SIZE)])
    pen, radius, turn = ImageDraw.Draw(image), rng.uniform(7, 11), rng.uniform(0, 2 * math.pi)
    x, y = (SIZE / 2 + rng.uniform(-2, 2) for _ in range(2))

    def corner(share, reach=radius):
        angle = turn + 2 * math.pi * share
        return x + reach * math.cos(angle), y + reach * math.sin(angle)

    if shape in ("circle", "ring"):
        inside = 255 if shape == "circle" else None
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=inside, outline=255, width=rng.randint(2, 3))
    elif shape == "cross":
        for quarter in (0, 1):
            pen.line([corner(quarter / 4), corner(quarter / 4 + 0.5)], fill=255, width=rng.randint(2, 4))
    else:
        number = CORNERS[shape]
        points = [corner(i / number) for i in range(number)]
        if shape == "star":
            points = [p for i, p in enumerate(points) for p in (p, corner((i + 0.5) / number, radius / 2.6))]
        pen.polygon(points, fill=255)
    return image


if __name__ == "__main__":
    folder, rng = Path(__file__).parent / "shapes", random.Random(1)
    for shape in ("circle", "cross", "ring", *CORNERS):
        (folder / shape).mkdir(parents=True, exist_ok=True)
        for number in range(EACH):
            draw(shape, rng).save(folder / shape / f"{number:03}.png")
    print(f"{folder}: {EACH} images of each of 6 shapes")
