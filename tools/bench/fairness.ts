/** How long one key's requests take while another key sends a burst, and while the burst is its own. */
import { ms, percentile, table, timeCalls } from "./figures.ts";
import type { Bench } from "./bench.ts";
import { chooseAmount } from "./least.ts";
import { startPlain } from "./servers/plain.ts";

const BURST = chooseAmount(300, 4);
const CALLS = chooseAmount(10, 2);

export const bench: Bench = {
  title: `${BURST} requests at a time of one key, beside another key`,
  async start() {
    await using weir = await startPlain();
    const send = async (path: string, key: string, body?: object) => {
      const headers = { "x-api-key": key, "content-type": "application/json" };
      const method = body ? "POST" : "GET";
      const answer = await fetch(weir.url + path, { method, headers, body: JSON.stringify(body) });
      return answer.text();
    };
    const createKey = async () => (JSON.parse(await send("/api/v1/api-keys", weir.key, {})) as { key: string }).key;
    const [busy, own] = [await createKey(), await createKey()];

    /** The time of one key's calls while this many requests of a key are sent at a time. */
    const measureBurst = async (burst: number, key: string) => {
      const over = new AbortController();
      const loops = Array.from({ length: burst }, async () => {
        while (!over.signal.aborted) await send("/threads", key, {});
      });
      const times = await timeCalls(CALLS, () => send("/threads", own, {}));
      over.abort();
      await Promise.all(loops);
      return times;
    };
    const row = (name: string, times: number[]) => [name, ms(percentile(times, 50)), ms(percentile(times, 100))];
    await measureBurst(16, busy);
    table(
      ["POST /threads", "p50", "slowest"],
      [
        row("alone", await measureBurst(0, own)),
        row("beside the burst of another key", await measureBurst(BURST, busy)),
        row("beside its own burst", await measureBurst(BURST, own)),
      ],
    );
  },
};
