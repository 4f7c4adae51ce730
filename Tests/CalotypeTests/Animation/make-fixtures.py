#!/usr/bin/env python3
"""Makes the small animations that the animation tests read, and what their frames should be.

    make-fixtures.py [FOLDER]        needs Pillow 11.3 or newer

For each animation NAME.EXT there is NAME.EXT.frames: every frame as Pillow composes it, premultiplied RGBA of 8
bits, one after the other without gaps. The files are committed; run this only to change them.
"""
import io, os, struct, sys, zlib

from PIL import Image, ImageDraw

folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "Fixtures")
os.makedirs(folder, exist_ok=True)
WIDTH, HEIGHT = 40, 30
decoding = os.path.join(os.path.dirname(__file__), "..", "Decoding", "Fixtures")


def path(name): return os.path.join(folder, name)


def disc(step, background):
    """A disc that moves to the right, with a hole, on a background."""
    image = background.copy()
    draw = ImageDraw.Draw(image)
    x, y = 4 + 5 * step, 6 + 2 * step
    draw.ellipse((x, y, x + 12, y + 12), fill=(220 - 30 * step, 40 + 30 * step, 90, 255))
    draw.rectangle((x + 5, y + 5, x + 7, y + 7), fill=(0, 0, 0, 0))
    return image


def reference(name, source):
    """Every frame of a file as Pillow composes it."""
    picture = Image.open(source)
    with open(path(name + ".frames"), "wb") as file:
        for index in range(picture.n_frames):
            picture.seek(index)
            file.write(picture.convert("RGBA").convert("RGBa").tobytes())


def save(name, frames, **options):
    frames[0].save(path(name), save_all=True, append_images=frames[1:], duration=100, loop=0, **options)
    reference(name, path(name))


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def composed(name):
    """Every frame of an APNG by the standard's own words: Pillow restores other pixels than were there."""
    data = open(path(name), "rb").read()
    at, frames, header = 8, [], b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        at += 12 + length
        if kind == b"IHDR": header = body
        elif kind == b"fcTL": frames.append([struct.unpack(">IIIIIHHBB", body), b""])
        elif kind == b"IDAT" and frames: frames[-1][1] += body
        elif kind == b"fdAT": frames[-1][1] += body[4:]
    canvas = Image.new("RGBA", struct.unpack(">II", header[:8]), (0, 0, 0, 0))
    with open(path(name + ".frames"), "wb") as file:
        for (_, width, height, x, y, _, _, disposal, blend), pixels in frames:
            stream = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">II", width, height) + header[8:])
                      + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))
            frame, before = Image.open(io.BytesIO(stream)).convert("RGBA"), canvas.copy()
            box = (x, y, x + width, y + height)
            if blend: canvas.alpha_composite(frame, (x, y))
            else: canvas.paste(frame, box)
            file.write(canvas.convert("RGBa").tobytes())
            # A first frame that is to be restored is to be cleared.
            if disposal == 2 and file.tell() > len(canvas.tobytes()): canvas = before
            elif disposal == 2: canvas.paste((0, 0, 0, 0), box)
            elif disposal == 1: canvas.paste((0, 0, 0, 0), box)


clear = Image.new("RGBA", (WIDTH, HEIGHT), (0, 0, 0, 0))
ground = Image.new("RGBA", (WIDTH, HEIGHT), (30, 60, 120, 255))
ImageDraw.Draw(ground).rectangle((0, 20, WIDTH, HEIGHT), fill=(60, 140, 60, 255))
on_clear = [disc(step, clear) for step in range(5)]
on_ground = [disc(step, ground) for step in range(5)]
solid = [Image.alpha_composite(ground, frame) for frame in on_clear]

save("cleared.gif", on_clear, disposal=2)
save("kept.gif", solid, disposal=1)
save("restored.gif", on_ground, disposal=3)
save("cleared.png", on_clear, disposal=1, blend=0)
save("over.png", on_clear, disposal=0, blend=1)
save("restored.png", on_ground, disposal=2, blend=1)
composed("restored.png")
# The default picture is none of the frames.
save("hidden-default.png", on_clear, disposal=1, blend=0, default_image=True)
save("moving.webp", on_clear, lossless=True)
save("kept.webp", solid, lossless=True, kmin=9, kmax=17)
for name in ("animated.gif", "animated.png", "animated.webp", "animated.avif"):
    reference(name, os.path.join(decoding, name))
