/**
 * A stand-in of Cloudflare's REST API with one account: D1 (on node:sqlite), R2, Queues, Workers with their secrets and
 * assets. It answers in Cloudflare's envelopes, and in as much detail as Wrangler and `weir deploy` read.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { D1Databases } from "./cloudflare-d1.ts";
import { type Call, Refusal, type Route } from "./cloudflare-route.ts";
import { workerRoutes, Workers } from "./cloudflare-workers.ts";

export const ACCOUNT = "0123456789abcdef0123456789abcdef";
export const TOKEN = "stand-in-token";

export interface CloudflareApi {
  /** For CLOUDFLARE_API_BASE_URL. */
  url: string;
  databases: D1Databases;
  buckets: Map<string, { name: string }>;
  queues: Map<string, { queue_id: string; queue_name: string; consumers: Record<string, unknown>[] }>;
  workers: Workers;
  /** Every call so far, such as `POST /r2/buckets`. Calls that create or change are those that are no GET. */
  calls: string[];
  /** Makes the calls that match fail with status 500; undefined ends it. */
  fail(calls: RegExp | undefined): void;
  close(): Promise<void>;
}

export async function startCloudflareApi(): Promise<CloudflareApi> {
  const databases = new D1Databases();
  const buckets: CloudflareApi["buckets"] = new Map();
  const queues: CloudflareApi["queues"] = new Map();
  const workers = new Workers();
  const calls: string[] = [];
  let failing: RegExp | undefined;

  const queueRoutes: Route[] = [
    [
      "GET",
      /^\/queues$/,
      ({ query }) => {
        const names = query.getAll("name");
        return [...queues.values()].filter(({ queue_name }) => names.length === 0 || names.includes(queue_name));
      },
    ],
    [
      "POST",
      /^\/queues$/,
      async ({ request }) => {
        const { queue_name } = await request.json<{ queue_name: string }>();
        if (queues.has(queue_name)) throw new Refusal(409, 11009, `Queue name "${queue_name}" is already taken.`);
        const made = { queue_id: randomUUID().replaceAll("-", ""), queue_name, consumers: [] };
        queues.set(queue_name, made);
        return made;
      },
    ],
    [
      "POST",
      /^\/queues\/([^/]+)\/consumers$/,
      async ({ request }, id) => {
        const queue = [...queues.values()].find(({ queue_id }) => queue_id === id);
        if (!queue) throw new Refusal(404, 11000, "Queue does not exist.");
        const body = await request.json<Record<string, unknown>>();
        const made = { ...body, consumer_id: randomUUID(), script: body.script_name };
        queue.consumers.push(made);
        return made;
      },
    ],
    ["PUT", /^\/queues\/[^/]+\/consumers\/[^/]+$/, async ({ request }) => request.json()],
  ];
  const bucketRoutes: Route[] = [
    ["GET", /^\/r2\/buckets$/, () => ({ buckets: [...buckets.values()] })],
    [
      "GET",
      /^\/r2\/buckets\/([^/]+)$/,
      (_, name = "") => {
        const bucket = buckets.get(name);
        if (!bucket) throw new Refusal(404, 10006, "The specified bucket does not exist.");
        return bucket;
      },
    ],
    [
      "POST",
      /^\/r2\/buckets$/,
      async ({ request }) => {
        const { name } = await request.json<{ name: string }>();
        if (buckets.has(name)) throw new Refusal(409, 10004, "The bucket you tried to create already exists.");
        buckets.set(name, { name });
        return { name };
      },
    ],
  ];
  const routes: Route[] = [
    ["GET", /^$/, () => ({ id: ACCOUNT, name: "Stand-in" })],
    ...databases.routes,
    ...bucketRoutes,
    ...queueRoutes,
    ...workerRoutes(workers),
  ];

  async function answer(call: Call): Promise<unknown> {
    const auth = call.request.headers.get("authorization") ?? "";
    if (auth !== `Bearer ${TOKEN}` && auth !== `Bearer ${workers.assetToken}`) {
      throw new Refusal(401, 10000, "Authentication error");
    }
    if (call.path === "/accounts") return [{ id: ACCOUNT, name: "Stand-in" }];
    if (call.path === "/memberships") return [{ account: { id: ACCOUNT, name: "Stand-in" } }];
    const inAccount = call.path.startsWith(`/accounts/${ACCOUNT}`);
    if (!inAccount) throw new Refusal(404, 7003, `Could not route to ${call.path}.`);
    const path = call.path.slice(`/accounts/${ACCOUNT}`.length);
    calls.push(`${call.method} ${path}`);
    if (failing?.test(`${call.method} ${path}`)) throw new Refusal(500, 10013, "An unknown error has occurred.");
    for (const [method, pattern, respond] of routes) {
      const match = method === call.method && pattern.exec(path);
      if (match) return respond(call, ...match.slice(1).map(decodeURIComponent));
    }
    throw new Refusal(404, 7003, `The stand-in has no route ${call.method} ${path}.`);
  }

  const server = createServer((request, response) => {
    const send = (status: number, body: unknown) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    void (async () => {
      try {
        const { pathname, searchParams } = new URL(request.url ?? "", "http://stand-in");
        const path = pathname.replace(/^\/client\/v4/, "");
        const method = request.method ?? "GET";
        const result = await answer({ method, path, query: searchParams, request: await readWhole(request) });
        send(200, { success: true, errors: [], messages: [], result, ...describePage(result) });
      } catch (error) {
        const { status, code, message } =
          error instanceof Refusal ? error : { status: 500, code: 10013, message: String(error) };
        send(status, { success: false, errors: [{ code, message }], messages: [], result: null });
      }
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`,
    databases,
    buckets,
    queues,
    workers,
    calls,
    fail: (calls) => {
      failing = calls;
    },
    close: async () => {
      databases.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const describePage = (result: unknown) =>
  Array.isArray(result)
    ? { result_info: { page: 1, per_page: 100, total_pages: 1, count: result.length, total_count: result.length } }
    : {};

async function readWhole(request: IncomingMessage): Promise<Request> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value));
  const method = request.method ?? "GET";
  const body = method === "GET" ? undefined : Buffer.concat(chunks);
  return new Request("http://stand-in/", { method, headers, body });
}
