#!/usr/bin/env python3
"""Makes the pictures of the formats behind the package's traits, and what their pixels should be.

    make-trait-fixtures.py [FOLDER]        needs Pillow, numpy, heif-enc, heif-convert, cjxl, djxl

As make-fixtures.py; the files are committed, run this only to change them.
"""
import os, subprocess, sys, tempfile

import numpy as np
from PIL import Image, ImageCms

folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "TraitFixtures")
os.makedirs(folder, exist_ok=True)
WIDTH, HEIGHT = 48, 32


def base(alpha=False):
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    planes = [40 + 200 * x / (WIDTH - 1), 30 + 200 * y / (HEIGHT - 1),
              210 - 90 * x / (WIDTH - 1) - 90 * y / (HEIGHT - 1)]
    if alpha:
        planes.append(np.clip(330 - 14 * np.hypot(x - 24, (y - 16) * 1.4), 0, 255))
    return np.clip(np.stack(planes, axis=-1), 0, 255).round().astype(np.uint8)


RGB, RGBA = Image.fromarray(base(), "RGB"), Image.fromarray(base(alpha=True), "RGBA")


def reference(name, image):
    image = image.convert("RGBA").convert("RGBa")
    for ending, shown in ((".rgba", image), (".half.rgba", image.resize((WIDTH // 2, HEIGHT // 2), Image.LANCZOS))):
        with open(os.path.join(folder, name + ending), "wb") as file:
            file.write(shown.tobytes())


def tiff(name, image, expected=None, **options):
    image.save(os.path.join(folder, name + ".tiff"), **options)
    reference(name, expected or image)


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def encoded(name, ending, image, encoder, decoder, profile=None):
    with tempfile.TemporaryDirectory() as scratch:
        source, shown = os.path.join(scratch, "in.png"), os.path.join(scratch, "out.png")
        image.save(source, icc_profile=profile)
        target = os.path.join(folder, f"{name}.{ending}")
        run(*encoder(source, target))
        run(*decoder(target, shown))
        reference(name, Image.open(shown))


tiff("tiff-rgb", RGB, compression="tiff_adobe_deflate")
tiff("tiff-lzw", RGB, compression="tiff_lzw")
tiff("tiff-alpha", RGBA, compression="tiff_adobe_deflate")
tiff("tiff-gray", RGB.convert("L"))
tiff("tiff-palette", RGB.quantize(64), RGB.quantize(64).convert("RGB"))
tiff("tiff-bilevel", RGB.convert("L").point(lambda v: 255 if v > 128 else 0, "1"), compression="group4")
turned = RGB.transpose(Image.ROTATE_90)
tiff("tiff-turned", turned, RGB, tiffinfo={274: 6}, compression="tiff_lzw")

heif = (lambda quality, *more: lambda a, b: ("heif-enc", "-q", str(quality), *more, "-o", b, a))
heif_back = (lambda a, b: ("heif-convert", a, b))
encoded("heif-photo", "heic", RGB, heif(90), heif_back)
encoded("heif-alpha", "heic", RGBA, heif(90), heif_back)

jxl = (lambda distance: lambda a, b: ("cjxl", "-d", str(distance), a, b))
jxl_back = (lambda a, b: ("djxl", a, b))
encoded("jxl-lossless", "jxl", RGB, jxl(0), jxl_back)
encoded("jxl-alpha", "jxl", RGBA, jxl(0), jxl_back)
encoded("jxl-lossy", "jxl", RGB, jxl(1), jxl_back)
encoded("jxl-gray", "jxl", RGB.convert("L"), jxl(0), jxl_back)
