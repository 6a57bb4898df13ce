/** Effects on the world outside, whose process is killed before the graph's record of them is written. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { seeded } from "../support/random.ts";
import { type KillableServer, startKillable, withTestGraphs } from "../support/server.ts";
import { chooseAmount } from "../support/thorough.ts";

const KILLS = chooseAmount("KILLS", 1, 50);
const ORDERS_PER_KILL = 4;
const PAYMENTS = ["goods", "parcel 1", "parcel 2", "city tax", "state tax", "fee 1", "fee 2"];
const random = seeded("effects");

/** A payment API: it books a payment once for each key, and answers a repetition as it answered the first request. */
class Payments {
  /** What was booked, by key. */
  readonly booked = new Map<string, string>();
  requests = 0;
  #strike: { after: number; now(): void } | undefined;
  readonly #server: Server = createServer((request, response) => {
    let what = "";
    request.on("data", (chunk) => (what += chunk));
    request.on("end", () => {
      const key = String(request.headers["idempotency-key"]);
      this.requests += 1;
      if (!this.booked.has(key)) this.booked.set(key, what);
      // The answer never leaves, so the graph cannot have a record of this payment when its process is killed.
      if (this.#strike && --this.#strike.after <= 0) return this.#strike.now();
      response.writeHead(this.booked.get(key) === what ? 200 : 422).end();
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves at the request with this number, counted from now. It and those after it are booked and not answered. */
  async strikeAt(number: number): Promise<void> {
    await new Promise<void>((resolve) => (this.#strike = { after: number, now: resolve }));
  }

  answer(): void {
    this.#strike = undefined;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

let server: KillableServer;
const payments = new Payments();
let receiver: string;
beforeAll(async () => {
  receiver = await payments.listen();
  server = await startKillable({}, { config: withTestGraphs() });
});
afterAll(async () => {
  await server.stop();
  payments.close();
});

const headers = () => ({ ...server.headers, "content-type": "application/json" });

/** The run's path; undefined when the server was killed before it answered. */
async function start(order: string): Promise<string | undefined> {
  const body = JSON.stringify({ assistant_id: "payments", if_not_exists: "create", input: { receiver, order } });
  const thread = `/threads/${crypto.randomUUID()}`;
  try {
    const response = await fetch(`${server.url}${thread}/runs`, { method: "POST", headers: headers(), body });
    return `${thread}/runs/${(await response.json<{ run_id: string }>()).run_id}`;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

async function waitUntilFinished(run: string): Promise<string> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    const { status } = await (await fetch(server.url + run, { headers: headers() })).json<{ status: string }>();
    if (!["pending", "running"].includes(status)) return status;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return "never finished";
}

/** Each payment of the order is booked once. An order that was not accepted may run all the same: then at most once. */
function expectBookedOnce(order: string, accepted: boolean): void {
  const booked = [...payments.booked.values()];
  const counts = PAYMENTS.map((what) => booked.filter((one) => one === `${order} ${what}`).length);
  expect(Math.max(...counts), `${order}: ${counts.join()}`).toBeLessThanOrEqual(1);
  expect(accepted ? Math.min(...counts) : 1, `${order}: ${counts.join()}`).toBe(1);
}

it(
  `${KILLS} kill(s) between a payment and its record: every payment of every order is booked once`,
  { timeout: 60_000 + KILLS * 60_000 },
  async () => {
    for (let kill = 0; kill < KILLS; kill += 1) {
      const struck = payments.strikeAt(random.between(1, ORDERS_PER_KILL * PAYMENTS.length + 1));
      const orders = Array.from({ length: ORDERS_PER_KILL }, (_, n) => `order ${kill}.${n}`);
      const started = Promise.all(orders.map(start));
      await struck;
      await new Promise((resolve) => setTimeout(resolve, random.between(0, 20)));
      await server.kill();
      payments.answer();
      const runs = await started;
      await server.restart();
      for (const run of runs) expect(run && (await waitUntilFinished(run))).toBe(run && "success");
      for (const [n, order] of orders.entries()) expectBookedOnce(order, runs[n] !== undefined);
    }
    const repeated = payments.requests - payments.booked.size;
    console.log(`effects: ${payments.booked.size} payments booked, ${repeated} requests repeated`);
    expect(repeated).toBeGreaterThanOrEqual(KILLS);
  },
);
