/** A small or ordinary body never costs an isolate its memory or seconds: values are counted before a text is parsed. */
import { createZstdCompress, gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { countValues, JSON_VALUES } from "../../src/lib/json.ts";
import { spansFromProtobuf } from "../../src/traces/ingest/otlp/decode.ts";
import { type Caller, newCaller, send } from "../support/caller.ts";

const MB = 1024 * 1024;
const lists = (bytes: number) => `[${"[],".repeat(bytes / 3)}[]]`;
const objects = (bytes: number) => `{"a":[${"{},".repeat(bytes / 3)}{}]}`;
const keys = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 0])));

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

/** Every way in which a body comes to a JSON parser. */
const DOORS = [
  "/threads",
  "/threads/search",
  "/assistants",
  "/runs/wait",
  "/runs/crons",
  "/store/items/search",
  "/mcp",
  "/a2a/echo",
  "/agui/echo",
  "/api/v1/feedback",
  "/api/v1/sessions",
  "/runs/batch",
];

const LARGE = [
  ["8 MB of lists", lists(7.9 * MB)],
  ["8 MB of objects", objects(7.9 * MB)],
  ["half a million members", keys(500_000)],
  ["brackets that never close", "[".repeat(7 * MB)],
] as const;

describe.each(DOORS)("%s refuses", (path) => {
  it.each(LARGE)("%s", async (_what, body) => {
    const response = await caller.fetch(path, { body });
    expect(response.status).toBe(413);
    expect(await response.text()).toContain("values");
  });
});

describe("a body of traces", () => {
  const run = { id: crypto.randomUUID(), trace_id: crypto.randomUUID(), run_type: "chain", name: "a" };
  const sendEncoded = (path: string, body: Uint8Array, encoding: string) =>
    caller.fetch(path, { body, headers: { "content-encoding": encoding } });

  it.each(["/runs/batch", "/api/v1/runs/batch", "/api/v1/runs", "/runs", "/otel/v1/traces"])(
    "of 38 KB that expands a thousandfold is refused: %s",
    async (path) => {
      const bomb = gzipSync(Buffer.alloc(39 * MB, '{"post":['));
      for (const body of [bomb, gzipSync(Buffer.alloc(12 * MB, " "))]) {
        const response = await sendEncoded(path, body, "gzip");
        expect(response.status).toBe(413);
        expect(await response.text()).toContain("more than 200 times");
      }
    },
  );

  it("that expands a thousandfold is refused in multipart and in zstd too", async () => {
    const part = `--x\r\ncontent-disposition: form-data; name="post.${run.id}.inputs"\r\n\r\n`;
    const multipart = gzipSync(Buffer.concat([Buffer.from(part), Buffer.alloc(30 * MB, "[],")]));
    const headers = { "content-type": "multipart/form-data; boundary=x", "content-encoding": "gzip" };
    expect((await caller.fetch("/runs/multipart", { body: multipart, headers })).status).toBe(413);
    const zstd = createZstdCompress();
    const chunks: Buffer[] = [];
    zstd.on("data", (chunk: Buffer) => chunks.push(chunk));
    const done = new Promise((resolve) => zstd.on("end", resolve));
    zstd.end(Buffer.alloc(16 * MB, " "));
    await done;
    expect((await sendEncoded("/api/v1/runs/batch", Buffer.concat(chunks), "zstd")).status).toBe(413);
  });

  it("that compresses well, and has few megabytes, is taken", async () => {
    const inputs = { text: "again ".repeat(400_000) };
    const body = gzipSync(JSON.stringify({ post: [{ ...run, inputs }], patch: [] }));
    expect(body.byteLength).toBeLessThan(20_000);
    expect((await sendEncoded("/api/v1/runs/batch", body, "gzip")).status).toBe(202);
  });

  it("holds at most two million values in all its runs together", async () => {
    // Each field is below the limit of one text.
    const field = lists(240_000);
    const runs = Array.from({ length: 40 }, () => `{"id":"${crypto.randomUUID()}","inputs":{"a":${field}}}`);
    const batch = await caller.fetch("/api/v1/runs/batch", { body: `{"post":[${runs.join(",")}]}` });
    expect(batch.status).toBe(413);
    const parts = Array.from(
      { length: 40 },
      () =>
        `--x\r\ncontent-disposition: form-data; name="post.${crypto.randomUUID()}.inputs"\r\n\r\n{"a":${field}}\r\n`,
    );
    const headers = { "content-type": "multipart/form-data; boundary=x" };
    const multipart = await caller.fetch("/runs/multipart", { body: `${parts.join("")}--x--\r\n`, headers });
    expect(multipart.status).toBe(413);
  });

  it("with one run of too many values names it, and takes the others", async () => {
    const heavy = `{"id":"${crypto.randomUUID()}","anything":${lists(1.5 * MB)}}`;
    const response = await caller.fetch("/api/v1/runs/batch", { body: `{"post":[${heavy},${JSON.stringify(run)}]}` });
    expect(await response.json()).toMatchObject({ taken: 1, rejected: 1 });
  });
});

describe("a protobuf body", () => {
  /** Field 1 of the request: resource spans; its field 2: scope spans. */
  const field = (number: number, bytes: Uint8Array) => {
    const length: number[] = [];
    for (let left = bytes.byteLength; ; left >>>= 7) {
      if (left < 128) {
        length.push(left);
        break;
      }
      length.push((left & 127) | 128);
    }
    return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
  };
  const spans = (inner: Uint8Array) => field(1, field(2, inner));

  it.each([
    ["spans", spans(Buffer.alloc(MB, Buffer.from([0x12, 0])))],
    ["attributes", spans(field(2, Buffer.alloc(2 * MB, Buffer.from([0x4a, 0]))))],
    ["events", spans(field(2, Buffer.alloc(2 * MB, Buffer.from([0x5a, 0]))))],
    ["resources", Buffer.alloc(2 * MB, Buffer.from([0x0a, 0]))],
    ["unknown fields", Buffer.alloc(8 * MB, Buffer.from([0x78, 0]))],
  ])("of empty %s is refused", async (_what, body) => {
    const headers = { "content-type": "application/x-protobuf" };
    const response = await caller.fetch("/otel/v1/traces", { body: new Uint8Array(body), headers });
    expect(response.status).toBe(413);
  });

  it("of ten thousand spans is read", () => {
    const attribute = field(9, Buffer.concat([field(1, Buffer.from("key")), field(2, field(1, Buffer.from("value")))]));
    const span = field(2, Buffer.concat(Array.from({ length: 10 }, () => attribute)));
    expect(spansFromProtobuf(spans(Buffer.concat(Array.from({ length: 10_000 }, () => span))))).toHaveLength(10_000);
  });
});

it("a WebSocket's command is counted too", async () => {
  const thread = crypto.randomUUID();
  const headers = { "x-api-key": caller.key, upgrade: "websocket" };
  const { webSocket: socket } = await send(`/threads/${thread}/stream/events`, { headers });
  const answer = new Promise<string>((resolve) =>
    socket?.addEventListener("message", ({ data }) => resolve(String(data)), { once: true }),
  );
  socket?.accept();
  socket?.send(`{"id":1,"method":"run.start","params":{"a":${lists(0.9 * MB)}}}`);
  expect(JSON.parse(await answer)).toMatchObject({ type: "error", error: "invalid_argument" });
  expect(await answer).toContain("values");
  socket?.close();
});

describe("metadata, config and context", () => {
  const many = Object.fromEntries(Array.from({ length: 6_000 }, (_, i) => [`k${i}`, [i]]));

  it.each([
    ["/threads", { metadata: many }],
    ["/assistants", { graph_id: "echo", metadata: many }],
    ["/assistants", { graph_id: "echo", config: { configurable: many } }],
    ["/runs/wait", { assistant_id: "echo", metadata: many }],
    ["/runs/wait", { assistant_id: "echo", context: many }],
    ["/runs/wait", { assistant_id: "echo", config: { configurable: many } }],
    ["/runs/crons", { assistant_id: "echo", schedule: "0 0 * * *", metadata: many }],
    ["/api/v1/sessions", { name: crypto.randomUUID(), extra: many }],
  ])("hold at most 10,000 values: %s %j", async (path, body) => {
    const response = await caller.fetch(path, { body });
    expect(response.status).toBe(422);
    expect(await response.text()).toContain("10000 values");
  });
});

it("values are counted as a parser finds them, with any content of the strings", () => {
  const count = (value: unknown) => countValues(Buffer.from(JSON.stringify(value)), JSON_VALUES);
  expect(count({ a: 1, b: [2, 3] })).toBe(5);
  expect(count(["[,{", '\\"', "\\", ',"'])).toBe(5);
  expect(count("[[[[,,,")).toBe(1);
  expect(countValues(Buffer.from('["'), JSON_VALUES)).toBe(2);
});
