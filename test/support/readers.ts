/** Clients that read a thread's events, lose their connection at any moment, and continue after the last event they had. */
import type { Event } from "../protocols/streaming/client.ts";
import { sseEvents } from "./sse.ts";

const CHANNELS = ["lifecycle", "messages"];

/** A thread's address, and the headers of a call to it. */
export interface ThreadAddress {
  path: string;
  headers: Record<string, string>;
}

/** An open connection. */
interface Connection {
  /** Ends it without a word to the server. */
  cut(): void;
  /** Settles when it has ended. */
  ended: Promise<void>;
}

export class Reader {
  /** Events so far, and the sequence number of the last one. */
  received = 0;
  last = 0;
  /** Events that came twice or out of order. */
  wrong = 0;
  readonly thread: ThreadAddress;
  readonly #over: "sse" | "socket";
  #connection: Connection | undefined;

  constructor(thread: ThreadAddress, over: "sse" | "socket") {
    this.thread = thread;
    this.#over = over;
  }

  /** Resolves when the connection is open. */
  async open(): Promise<void> {
    const open = this.#over === "sse" ? openStream : openSocket;
    this.#connection = await open(this.thread, this.last, (seq) => this.#take(seq));
  }

  /** Loses the connection. */
  async drop(): Promise<void> {
    this.#connection?.cut();
    await this.#connection?.ended;
    this.#connection = undefined;
  }

  #take(seq: number): void {
    if (seq <= this.last) this.wrong += 1;
    this.last = seq;
    this.received += 1;
  }
}

type Take = (seq: number) => void;

async function openStream({ path, headers }: ThreadAddress, since: number, take: Take): Promise<Connection> {
  const leave = new AbortController();
  const response = await fetch(`${path}/stream/events`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ channels: CHANNELS, since }),
    signal: leave.signal,
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  const read = async () => {
    for await (const { data } of sseEvents(response)) take((data as Event).seq);
  };
  return { cut: () => leave.abort(), ended: read().catch(() => undefined) };
}

type SocketClass = new (url: string, options: { headers: Record<string, string> }) => WebSocket;

async function openSocket({ path, headers }: ThreadAddress, since: number, take: Take): Promise<Connection> {
  const Socket = WebSocket as unknown as SocketClass;
  const socket = new Socket(`${path.replace(/^http/, "ws")}/stream/events`, { headers });
  const ended = new Promise<void>((resolve) => socket.addEventListener("close", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve());
    socket.addEventListener("error", () => reject(new Error("The server refused a WebSocket.")));
  });
  socket.addEventListener("message", ({ data }) => {
    const frame = JSON.parse(String(data)) as Event;
    if (frame.type === "event") take(frame.seq);
  });
  const params = { channels: CHANNELS, since };
  socket.send(JSON.stringify({ id: 1, method: "subscription.subscribe", params }));
  return { cut: () => socket.close(), ended };
}

/** A new thread of the credential in `headers`. */
export async function createThread(url: string, headers: Record<string, string>): Promise<ThreadAddress> {
  const { thread_id } = await post<{ thread_id: string }>({ path: `${url}/threads`, headers }, {});
  return { path: `${url}/threads/${thread_id}`, headers };
}

/** A run on the thread, to its end. */
export async function run({ path, headers }: ThreadAddress): Promise<void> {
  const input = { messages: [{ role: "user", content: "count to 6" }] };
  await post({ path: `${path}/runs/wait`, headers }, { assistant_id: "agent", input });
}

async function post<T>({ path, headers }: ThreadAddress, body: object): Promise<T> {
  const response = await fetch(path, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.json<T>();
}

/** The number of events of a thread, and the last sequence number, once all of its readers have had the last one. */
export async function waitUntilSettled(readers: Reader[], patienceMs: number): Promise<void> {
  const until = Date.now() + patienceMs;
  const listBehind = () => {
    const last = new Map<string, number>();
    for (const { thread, last: seq } of readers) last.set(thread.path, Math.max(seq, last.get(thread.path) ?? 0));
    return readers.filter(({ thread, last: seq }) => seq < (last.get(thread.path) ?? 0)).length;
  };
  while (listBehind() > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 100));
}

/** Events that readers lack, and events that came twice or out of order, against a replay of each thread. */
export async function compare(readers: Reader[]): Promise<{ missed: number; wrong: number; events: number }> {
  const replays = new Map<string, Reader>();
  for (const { thread } of readers) if (!replays.has(thread.path)) replays.set(thread.path, new Reader(thread, "sse"));
  for (const replay of replays.values()) await replay.open();
  await waitUntilSettled([...readers, ...replays.values()], 30_000);
  for (const replay of replays.values()) await replay.drop();
  const total = { missed: 0, wrong: 0, events: 0 };
  for (const { thread, received, wrong } of readers) {
    total.events += received;
    total.wrong += wrong;
    total.missed += Math.abs((replays.get(thread.path)?.received ?? 0) - received);
  }
  return total;
}
