/**
 * Readers that lose their connection while threads run: no event is missed, and no reader stays behind in the object.
 * `npm run bench -- readers` is the long form, with 1,000 readers.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { compare, createThread, Reader, run, waitUntilSettled, type ThreadAddress } from "../support/readers.ts";
import { type CountingServer, startServer } from "../support/server.ts";

const THREADS = 5;
const READERS = 50;
const DROPPED = 10;
const ROUNDS = 10;

let server: CountingServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

it(`${READERS} readers, of which ${DROPPED} drop every second, miss nothing and leave nothing`, async () => {
  const threads: ThreadAddress[] = [];
  for (let n = 0; n < THREADS; n += 1) threads.push(await createThread(server.url, server.headers));
  const readers = Array.from(
    { length: READERS },
    (_, n) => new Reader(threads[n % THREADS] as ThreadAddress, n % 2 === 0 ? "sse" : "socket"),
  );
  for (const reader of readers) await reader.open();
  const readId = ({ path }: ThreadAddress) => path.split("/").at(-1) ?? "";
  const open = async () =>
    Promise.all(
      threads.map(async (thread) => {
        const { streams, sockets } = await server.countReaders(readId(thread));
        return { streams, sockets };
      }),
    );
  await expect.poll(open).toEqual(threads.map(() => ({ streams: READERS / THREADS, sockets: READERS / THREADS / 2 })));

  for (let round = 0; round < ROUNDS; round += 1) {
    const runs = Promise.all(threads.map(run));
    await Promise.all(
      Array.from({ length: DROPPED }, async (_, n) => {
        const reader = readers[(round * DROPPED + n) % READERS];
        await sleep(n * 30);
        await reader?.drop();
        await reader?.open();
      }),
    );
    await runs;
    await sleep(500);
  }
  await waitUntilSettled(readers, 30_000);
  const { missed, wrong, events } = await compare(readers);
  expect({ missed, wrong }).toEqual({ missed: 0, wrong: 0 });
  expect(events).toBeGreaterThan(READERS * ROUNDS);
  // Those that left without a word are noticed at the next ping.
  const each = { streams: READERS / THREADS, sockets: READERS / THREADS / 2 };
  await expect.poll(open, { timeout: 60_000 }).toEqual(threads.map(() => each));

  for (const reader of readers) await reader.drop();
  await expect.poll(open, { timeout: 60_000 }).toEqual(threads.map(() => ({ streams: 0, sockets: 0 })));
});
