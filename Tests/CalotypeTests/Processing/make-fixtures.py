#!/usr/bin/env python3
"""Makes the pictures that the tests of resampling and processing read, and what Pillow makes of them.

    make-fixtures.py COFFEE.PNG [FOLDER]        needs Pillow and numpy

COFFEE.PNG is scikit-image's sample picture data/coffee.png (by Rachel Michetti, CC0). The other source is
an icon of Examples/icons (public domain). NAME.png is a source; NAME.CHANGE.rgba what Pillow makes of it:
premultiplied RGBA of 8 bits, rows without gaps. The files are committed; run this only to change them.
"""
import os, sys

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter

here = os.path.dirname(os.path.abspath(__file__))
folder = sys.argv[2] if len(sys.argv) > 2 else os.path.join(here, "Fixtures")
os.makedirs(folder, exist_ok=True)


def path(name):
    return os.path.join(folder, name)


def save(image, name):
    if image.mode == "RGBa":
        data = image.tobytes("raw", "RGBa")
    else:
        data = image.convert("RGB").convert("RGBA").tobytes()
    with open(path(name + ".rgba"), "wb") as file:
        file.write(data)


photo = Image.open(sys.argv[1]).convert("RGB").resize((144, 96), Image.LANCZOS)
icon = Image.open(os.path.join(here, "../../../Examples/icons/application-certificate.png")).convert("RGBA")
icon = icon.resize((64, 64), Image.LANCZOS)
photo.save(path("photo.png"), optimize=True)
icon.save(path("icon.png"), optimize=True)
clear = icon.convert("RGBa")

for width, height in [(48, 32), (100, 67), (16, 11)]:
    save(photo.resize((width, height), Image.LANCZOS), f"photo.{width}x{height}")
for side in [48, 20, 6, 90]:
    save(clear.resize((side, side), Image.LANCZOS), f"icon.{side}x{side}")
save(photo.resize((40, 40), Image.LANCZOS, box=(20.5, 10.25, 100.5, 90.25)), "photo.cropped")
save(photo.filter(ImageFilter.GaussianBlur(3)), "photo.blur-3")
save(photo.filter(ImageFilter.GaussianBlur(0.7)), "photo.blur-0.7")
save(clear.filter(ImageFilter.GaussianBlur(2.5)), "icon.blur-2.5")
save(photo.filter(ImageFilter.UnsharpMask(2, 100, 0)), "photo.sharpen")
save(photo.convert("L"), "photo.grey")
save(ImageEnhance.Brightness(photo).enhance(1.3), "photo.brightness")

# What a shape covers, drawn sixteen times as large.
for name, corners in [("circle", None), ("round", (True, True, False, True))]:
    mask = Image.new("L", (48 * 16, 48 * 16))
    draw = ImageDraw.Draw(mask)
    if corners:
        draw.rounded_rectangle((0, 0, 48 * 16 - 1, 48 * 16 - 1), 12 * 16, fill=255, corners=corners)
    else:
        draw.ellipse((0, 0, 48 * 16 - 1, 48 * 16 - 1), fill=255)
    np.asarray(mask.resize((48, 48), Image.BOX)).tofile(path(f"{name}.mask"))
