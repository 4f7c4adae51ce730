#!/usr/bin/env python3
"""Makes the small pictures that the decoding tests read, and what their pixels should be.

    make-fixtures.py [FOLDER]        needs Pillow 11.3 or newer, numpy, a C compiler, libjpeg, avifenc

For each picture NAME.EXT there is NAME.rgba, the whole picture, and NAME.half.rgba, the picture at half its
size through Pillow's LANCZOS: premultiplied RGBA of 8 bits, rows without gaps. The files are committed; run
this only to change them.
"""
import io, os, struct, subprocess, sys, tempfile, zlib

import numpy as np
from PIL import Image, ImageCms, ImageDraw

folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "Fixtures")
os.makedirs(folder, exist_ok=True)
WIDTH, HEIGHT = 48, 32


def base(alpha=False):
    """A smooth picture that looks different from every side."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    red = 40 + 200 * x / (WIDTH - 1)
    green = 30 + 200 * y / (HEIGHT - 1)
    blue = 210 - 90 * x / (WIDTH - 1) - 90 * y / (HEIGHT - 1)
    spot = np.exp(-((x - 14) ** 2 + (y - 9) ** 2) / 40.0)
    planes = [red + (235 - red) * spot, green + (225 - green) * spot, blue + (40 - blue) * spot]
    if alpha:
        planes.append(np.clip(330 - 14 * np.hypot(x - 24, (y - 16) * 1.4), 0, 255))
    return np.clip(np.stack(planes, axis=-1), 0, 255).round().astype(np.uint8)


RGB = Image.fromarray(base(), "RGB")
RGBA = Image.fromarray(base(alpha=True), "RGBA")


def path(name): return os.path.join(folder, name)


def write(name, data):
    with open(path(name), "wb") as file: file.write(data)


def reference(name, image):
    """What a picture's pixels should be."""
    image = image.convert("RGBA").convert("RGBa")
    write(name + ".rgba", image.tobytes())
    write(name + ".half.rgba", image.resize((WIDTH // 2, HEIGHT // 2), Image.LANCZOS).tobytes())


def save(name, image, expected=None, **options):
    """Saves a picture, and as what it should be either what is told or what Pillow reads."""
    image.save(path(name), **options)
    stem = name.rsplit(".", 1)[0]
    reference(stem, expected if expected is not None else Image.open(path(name)))


# PNG, chunk by chunk, since Pillow does not write all depths.
def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width, height, depth, color, rows, extra=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def packed(levels, depth):
    """Rows of samples of less than 8 bits."""
    rows = []
    for line in levels:
        bits = "".join(format(int(v), f"0{depth}b") for v in line)
        bits += "0" * (-len(bits) % 8)
        rows.append(int(bits, 2).to_bytes(len(bits) // 8, "big"))
    return rows


def grey_pngs():
    grey = np.asarray(RGB.convert("L"))
    for depth in (1, 2, 4, 8):
        top = (1 << depth) - 1
        levels = (grey.astype(float) / 255 * top).round().astype(int)
        shown = Image.fromarray((levels * 255 // top).astype(np.uint8), "L")
        write(f"gray{depth}.png", png(WIDTH, HEIGHT, depth, 0, packed(levels, depth)))
        reference(f"gray{depth}", shown)
    wide = (grey.astype(int) * 257).astype(">u2")
    write("gray16.png", png(WIDTH, HEIGHT, 16, 0, [row.tobytes() for row in wide]))
    reference("gray16", Image.fromarray(grey, "L"))
    save("gray-alpha.png", Image.merge("LA", (RGB.convert("L"), RGBA.getchannel("A"))))


def color_pngs():
    save("rgb.png", RGB)
    save("rgba.png", RGBA)
    for name, source, color in (("rgb16", base(), 2), ("rgba16", base(alpha=True), 6)):
        # Low bytes that a reader which only drops them rounds the wrong way.
        wide = np.clip(source.astype(int) * 257 + 100, 0, 65535).astype(">u2")
        write(name + ".png", png(WIDTH, HEIGHT, 16, color, [row.tobytes() for row in wide]))
        exact = ((wide.astype(int) * 255 + 32767) // 65535).astype(np.uint8)
        reference(name, Image.fromarray(exact, "RGBA" if color == 6 else "RGB"))
    palette = RGB.quantize(64)
    save("palette.png", palette)
    alphas = bytes((i * 4) % 256 for i in range(64))
    save("palette-alpha.png", palette, transparency=alphas)
    save("palette4.png", RGB.quantize(13), bits=4)
    # One colour that stands for clear, in RGB and in grey.
    flat = RGB.copy()
    ImageDraw.Draw(flat).rectangle((30, 4, 42, 20), fill=(255, 0, 255))
    save("rgb-key.png", flat, transparency=(255, 0, 255))
    for name, image in (("interlaced", RGB), ("interlaced-alpha", RGBA)):
        subprocess.run(
            ["convert", "-", "-interlace", "PNG", "-define", "png:exclude-chunks=all", path(name + ".png")],
            input=encode(image, "PNG"), check=True)
        reference(name, image)
    frames = [RGB, RGB.rotate(180), RGB.rotate(90, expand=False)]
    RGB.save(path("animated.png"), save_all=True, append_images=frames[1:], duration=100, loop=3)
    reference("animated", RGB)


def encode(image, format, **options):
    stream = io.BytesIO()
    image.save(stream, format, **options)
    return stream.getvalue()


def orientations():
    """Stored so that each is the same picture once it is upright."""
    inverse = {
        1: None, 2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM, 5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE, 8: Image.Transpose.ROTATE_270}
    for number, method in inverse.items():
        stored = RGB if method is None else RGB.transpose(method)
        exif = Image.Exif()
        exif[0x0112] = number
        stored.save(path(f"orientation-{number}.jpg"), quality=96, subsampling=0, exif=exif)
        stored.save(path(f"orientation-{number}.png"), exif=exif)
        stored.save(path(f"orientation-{number}.webp"), quality=98, exif=exif)
        stored.save(path(f"orientation-{number}.avif"), quality=95, subsampling="4:4:4", exif=exif)
    reference("upright", RGB)


def jpegs():
    save("baseline.jpg", RGB, quality=92, subsampling=0)
    save("progressive.jpg", RGB, quality=92, progressive=True)
    save("subsampled.jpg", RGB, quality=92, subsampling=2, restart_marker_blocks=2)
    save("gray.jpg", RGB.convert("L"), quality=92)
    ink = RGB.convert("CMYK")
    ink = Image.merge("CMYK", [*ink.split()[:3], RGB.convert("L").point(lambda v: (255 - v) // 3)])
    save("cmyk-adobe.jpg", ink, quality=95)
    # Stored as it is: inverted twice, and without the marker that says so.
    inverted = ink.point(lambda v: 255 - v)
    data = encode(inverted, "JPEG", quality=95)
    at = data.index(b"\xff\xee")
    length = struct.unpack(">H", data[at + 2:at + 4])[0]
    write("cmyk-plain.jpg", data[:at] + data[at + 2 + length:])
    reference("cmyk-plain", ink)
    write("ycck.jpg", ycck(inverted))
    reference("ycck", ink)
    profile = cmyk_profile()
    ink.save(path("cmyk-profile.jpg"), quality=95, icc_profile=profile)
    shown = ImageCms.profileToProfile(
        ink, ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB"), outputMode="RGB")
    reference("cmyk-profile", shown)


def ycck(image):
    """A YCCK file, which Pillow cannot write."""
    program = r"""
    #include <stdio.h>
    #include <jpeglib.h>
    int main(void) {
      struct jpeg_compress_struct c; struct jpeg_error_mgr e; static unsigned char row[48 * 4];
      c.err = jpeg_std_error(&e); jpeg_create_compress(&c); jpeg_stdio_dest(&c, stdout);
      c.image_width = 48; c.image_height = 32; c.input_components = 4; c.in_color_space = JCS_CMYK;
      jpeg_set_defaults(&c); jpeg_set_colorspace(&c, JCS_YCCK); jpeg_set_quality(&c, 95, TRUE);
      c.comp_info[0].h_samp_factor = c.comp_info[0].v_samp_factor = 1;
      c.comp_info[3].h_samp_factor = c.comp_info[3].v_samp_factor = 1;
      jpeg_start_compress(&c, TRUE);
      while (fread(row, sizeof row, 1, stdin) == 1) { JSAMPROW p = row; jpeg_write_scanlines(&c, &p, 1); }
      jpeg_finish_compress(&c); return 0;
    }"""
    with tempfile.TemporaryDirectory() as work:
        binary = os.path.join(work, "ycck")
        subprocess.run(["cc", "-x", "c", "-", "-o", binary, "-ljpeg"], input=program.encode(), check=True)
        return subprocess.run([binary], input=image.tobytes(), capture_output=True, check=True).stdout


# Colour profiles (ICC.1), by hand and small.
def s15(value): return struct.pack(">i", round(value * 65536))


def profile(space, tags, connection=b"XYZ ", kind=b"mntr"):
    body, table = b"", struct.pack(">I", len(tags))
    offset = 128 + 4 + 12 * len(tags)
    for name, data in tags:
        data += b"\0" * (-len(data) % 4)
        table += name + struct.pack(">II", offset + len(body), len(data))
        body += data
    size = offset + len(body)
    header = struct.pack(">I4sI4s4s4s", size, b"\0\0\0\0", 0x02400000, kind, space, connection)
    header += struct.pack(">6H", 2024, 1, 1, 0, 0, 0) + b"acsp" + b"\0" * 4 + b"\0" * 20 + b"\0" * 4
    header = header[:64] + struct.pack(">I", 0) + s15(0.9642) + s15(1.0) + s15(0.8249)
    header += b"\0" * (128 - len(header))
    return header + table + body


def description(text):
    text = text.encode() + b"\0"
    return b"desc\0\0\0\0" + struct.pack(">I", len(text)) + text + b"\0" * 78


def xyz(values): return b"XYZ \0\0\0\0" + b"".join(s15(v) for v in values)


def srgb_curve(count=1024):
    x = np.arange(count) / (count - 1)
    y = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    return b"curv\0\0\0\0" + struct.pack(">I", count) + (y * 65535).round().astype(">u2").tobytes()


P3_D50 = [(0.51512, 0.24120, -0.00105), (0.29198, 0.69225, 0.04189), (0.15710, 0.06657, 0.78407)]
SRGB_D50 = np.array([[0.43607, 0.38515, 0.14307], [0.22249, 0.71687, 0.06061], [0.01392, 0.09708, 0.71410]])


def p3_profile():
    names = (b"rXYZ", b"gXYZ", b"bXYZ")
    tags = [(b"desc", description("Test Display P3")), (b"wtpt", xyz((0.9642, 1, 0.8249)))]
    tags += [(name, xyz(values)) for name, values in zip(names, P3_D50)]
    curve = srgb_curve(256)
    return profile(b"RGB ", tags + [(name, curve) for name in (b"rTRC", b"gTRC", b"bTRC")])


def gray_profile(gamma):
    curve = b"curv\0\0\0\0" + struct.pack(">IH", 1, round(gamma * 256))
    return profile(
        b"GRAY", [(b"desc", description("Test grey")), (b"wtpt", xyz((0.9642, 1, 0.8249))), (b"kTRC", curve)])


def cmyk_profile():
    """Corner colours of a coarse press, as Lab in a table of 2 steps a channel."""
    table = bytearray()
    for node in range(16):
        c, m, y, k = node >> 3 & 1, node >> 2 & 1, node >> 1 & 1, node & 1
        light = 95 - 35 * c - 45 * m - 8 * y
        a, b = -32 * c + 72 * m - 5 * y, -48 * c - 3 * m + 88 * y
        if k: light, a, b = light * 0.16, a * 0.15, b * 0.15
        table += bytes((round(max(0, light) * 255 / 100), round(a) + 128, round(b) + 128))
    identity = b"".join(s15(1.0 if i % 4 == 0 else 0.0) for i in range(9))
    ramp = bytes(range(256))
    lut = b"mft1\0\0\0\0" + bytes((4, 3, 2, 0)) + identity + ramp * 4 + bytes(table) + ramp * 3
    tags = [(b"desc", description("Test press")), (b"wtpt", xyz((0.9642, 1, 0.8249))), (b"A2B0", lut)]
    return profile(b"CMYK", tags, connection=b"Lab ", kind=b"prtr")


def linear(values): return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def encoded(values):
    values = np.clip(values, 0, 1)
    return np.where(values <= 0.0031308, values * 12.92, 1.055 * values ** (1 / 2.4) - 0.055)


def wide_gamut():
    """Display P3, worked out by the formula rather than by a colour engine."""
    matrix = np.linalg.inv(SRGB_D50) @ np.array(P3_D50).T
    shown = encoded(linear(base() / 255.0) @ matrix.T)
    shown = Image.fromarray((shown * 255).round().astype(np.uint8), "RGB")
    data = p3_profile()
    save("p3.png", RGB, shown, icc_profile=data)
    save("p3.jpg", RGB, shown, icc_profile=data, quality=97, subsampling=0)
    RGB.save(path("p3.webp"), lossless=True, icc_profile=data)
    RGB.save(path("p3.avif"), quality=98, subsampling="4:4:4", icc_profile=data)
    with_alpha = shown.copy()
    with_alpha.putalpha(RGBA.getchannel("A"))
    save("p3-alpha.png", RGBA, with_alpha, icc_profile=data)
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "p3.png")
        RGB.save(source)
        subprocess.run(
            ["avifenc", "--ignore-icc", "--cicp", "12/13/6", "--min", "0", "--max", "4", "-y", "444", "-s", "8",
             source, path("p3-nclx.avif")], check=True, capture_output=True)
    grey = RGB.convert("L")
    shown = encoded((np.asarray(grey) / 255.0) ** 1.2)
    shown = Image.fromarray((shown * 255).round().astype(np.uint8), "L")
    save("gray-profile.png", grey, shown, icc_profile=gray_profile(1.2))
    RGB.save(path("srgb-profile.png"), icc_profile=ImageCms.ImageCmsProfile(
        ImageCms.createProfile("sRGB")).tobytes())
    reference("srgb-profile", RGB)


def gifs():
    palette = RGB.quantize(60)
    save("still.gif", palette)
    keyed = RGBA.convert("RGB").quantize(60)
    mask = np.asarray(RGBA.getchannel("A")) < 128
    levels = np.asarray(keyed).copy()
    levels[mask] = 61
    clear = Image.fromarray(levels, "P")
    clear.putpalette(keyed.getpalette())
    save("clear.gif", clear, transparency=61)
    palette.save(path("interlaced.gif"), interlace=1)
    reference("interlaced-gif", palette)
    frames = [palette] + [RGB.rotate(a).quantize(60) for a in (90, 180, 270)]
    frames[0].save(
        path("animated.gif"), save_all=True, append_images=frames[1:], duration=[100, 20, 50, 80], loop=4)
    reference("animated-gif", palette)


def webps_and_avifs():
    save("lossy.webp", RGB, quality=90)
    save("lossless.webp", RGB, lossless=True)
    save("alpha.webp", RGBA, quality=90)
    save("alpha-lossless.webp", RGBA, lossless=True)
    RGBA.save(path("animated.webp"), save_all=True, append_images=[RGBA.rotate(180), RGBA.rotate(90)],
              duration=80, loop=2, lossless=True)
    reference("animated-webp", RGBA)
    save("photo.avif", RGB, quality=90, subsampling="4:4:4")
    save("photo420.avif", RGB, quality=90, subsampling="4:2:0")
    save("photo-alpha.avif", RGBA, quality=90)
    RGB.save(path("animated.avif"), save_all=True, append_images=[RGB.rotate(180), RGB.rotate(90)],
             duration=80, quality=90)
    reference("animated-avif", Image.open(path("animated.avif")))


def bitmaps():
    save("rgb24.bmp", RGB)
    save("palette8.bmp", RGB.quantize(64))
    save("one-bit.bmp", RGB.convert("1"))
    save("alpha32.bmp", RGBA)
    RGBA.resize((32, 32)).save(path("png.ico"), sizes=[(16, 16), (32, 32)])
    RGBA.resize((32, 32)).save(path("bitmap.ico"), sizes=[(16, 16), (32, 32)], bitmap_format="bmp")
    write("icon.rgba", RGBA.resize((32, 32)).convert("RGBa").tobytes())


for make in (grey_pngs, color_pngs, orientations, jpegs, wide_gamut, gifs, webps_and_avifs, bitmaps):
    make()
print(f"{len(os.listdir(folder))} files in {folder}")
