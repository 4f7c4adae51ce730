"""Downloads a list with aiohttp and makes thumbnails with Pillow in a pool of processes.

    aiohttp_pillow.py LIST FOLDER CONCURRENCY SIZE PROCESSES

LIST has an address and a file name a line, divided by a tab. The thumbnails fit into SIZE × SIZE; PNG for
pictures with transparency, else JPEG. `draft` lets libjpeg decode at a reduced size, as a careful program
does.
"""
import asyncio, concurrent.futures, io, os, sys

import aiohttp
from PIL import Image, ImageOps


def thumbnail(data, folder, name, size):
    image = Image.open(io.BytesIO(data))
    image.draft("RGB", (size * 2, size * 2))
    image = ImageOps.exif_transpose(image)
    if image.mode not in ("RGB", "RGBA"):
        image = image.convert("RGBA" if "transparency" in image.info or "A" in image.mode else "RGB")
    image.thumbnail((size, size), Image.Resampling.LANCZOS)
    stem = os.path.splitext(name)[0]
    if image.mode == "RGBA":
        image.save(os.path.join(folder, f"{stem}.png"))
    else:
        image.save(os.path.join(folder, f"{stem}.jpg"), quality=85)


async def main(path, folder, concurrency, size, processes):
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    queue = iter(rows)
    failed = 0
    loop = asyncio.get_running_loop()

    async def worker(session, pool):
        nonlocal failed
        for address, name in queue:
            try:
                async with session.get(address) as response:
                    response.raise_for_status()
                    data = await response.read()
                await loop.run_in_executor(pool, thumbnail, data, folder, name, size)
            except (aiohttp.ClientError, OSError, ValueError) as error:
                failed += 1
                print(f"{address}: {error}", file=sys.stderr)

    connector = aiohttp.TCPConnector(limit=concurrency)
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        async with aiohttp.ClientSession(connector=connector) as session:
            await asyncio.gather(*(worker(session, pool) for _ in range(concurrency)))
    return 1 if failed else 0


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[3:6]]
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2], *numbers)))
