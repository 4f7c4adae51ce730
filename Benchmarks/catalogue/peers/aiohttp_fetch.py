"""Downloads a list into a folder with aiohttp: what a Python program does where speed matters.

    aiohttp_fetch.py LIST FOLDER CONCURRENCY

LIST has an address and a file name a line, divided by a tab.
"""
import asyncio, os, sys

import aiohttp


async def main(path, folder, concurrency):
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    queue = iter(rows)
    failed = 0

    async def worker(session):
        nonlocal failed
        for address, name in queue:
            try:
                async with session.get(address) as response:
                    response.raise_for_status()
                    data = await response.read()
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(data)
            except aiohttp.ClientError as error:
                failed += 1
                print(f"{address}: {error}", file=sys.stderr)

    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(worker(session) for _ in range(concurrency)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
