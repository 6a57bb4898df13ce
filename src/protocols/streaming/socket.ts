/**
 * The protocol over a WebSocket: commands in, answers and events out. The socket belongs to the thread's own object and
 * hibernates with it. Its attachment holds what is needed after a wake: the principal, the subscriptions and the
 * positions.
 */
import { sseFrame } from "../../http/sse.ts";
import { type EventMethod, type EventText, type Framing, type TailQuery, textLines } from "../../threads/log/events.ts";
import type { ReadLog, ThreadProtocol } from "../../threads/object/thread.ts";
import type { ThreadRpc } from "../../threads/rpc.ts";
import { framedFrom, isInOpening, type Opening } from "../../threads/runs/opening.ts";
import { type Dialect, eventsIn, markPauses, Pauses } from "./python.ts";
import { seqOfEventId, matcher, knownChannel, namedGraphs, selectMethods } from "./events.ts";
import { StreamFilter, Command, Unsubscribe } from "./schema.ts";
import { type PresentedCredential, isStillValid } from "../../access/auth/credentials.ts";
import type { Principal } from "../../http/principal.ts";
import * as v from "valibot";
import { limitKey, MAX_STREAMS, tooManyStreams } from "../../access/auth/limits.ts";
import { problemResponse, toProblem } from "../../lib/problem.ts";
import { NESTING, nestsDeeper, countValues, JSON_VALUES, tryParseExact, type Json } from "../../lib/json.ts";
import { BODY_LIMIT, parse } from "../../http/validate.ts";
import { parseObjectName } from "../../threads/types.ts";
import { type CommandResult, type Commander, runCommand, CommandError } from "./commands.ts";

// The protocol over SSE: the past events of the thread, then new ones, run after run. The server does not end it.

/**
 * The sequence number after which a reader resumes; undefined for one that gives no cursor. A cursor beyond the end of the log belongs
 * to a deleted log.
 */
export async function findStart(
  thread: Pick<ThreadRpc, "firstSeq" | "lastSeq">,
  filter: StreamFilter,
  lastEventId?: string,
): Promise<number | undefined> {
  const given = [lastEventId, filter.since, filter.since_event_id, filter.since_run, filter.after_run];
  if (given.every((cursor) => cursor == null)) return undefined;
  const cursors = [lastEventId, filter.since_event_id].map((id) => (id == null ? 0 : (seqOfEventId(id) ?? 0)));
  const run = filter.since_run == null ? undefined : await thread.firstSeq(filter.since_run);
  const ended = filter.after_run == null ? undefined : await thread.lastSeq(filter.after_run);
  const after = Math.max(filter.since ?? 0, (run ?? 1) - 1, ended ?? 0, ...cursors);
  return after > 0 && after > (await thread.lastSeq()) ? 0 : after;
}

export function protocolFraming(filter: StreamFilter, dialect: Dialect, opening?: Opening): Framing {
  const matches = matcher(filter);
  const isOpen = openingFilter(filter, opening);
  const show = eventsIn(dialect, filter.channels);
  return (event) => {
    const shown = isOpen(event) ? show(event) : undefined;
    return shown && matches(shown) ? sseFrame({ event: shown.method, data: shown.json, id: shown.id }) : "";
  };
}

// A reader without a cursor: an opening of the thread, and the whole of the graphs that its filter names below the root.

function openingFilter(filter: StreamFilter, opening: Opening | undefined): (event: EventText) => boolean {
  if (!opening) return () => true;
  const isNamed = namedGraphs(filter);
  return (event) => isInOpening(opening, event) || isNamed?.(event.ns) === true;
}

/** The query of the log. The state of an opening comes in front of the end of a run. */
function openingQuery(filter: StreamFilter, opening: Opening): { after: number; methods: EventMethod[] } {
  const methods = selectMethods(filter.channels);
  return {
    after: namedGraphs(filter) ? 0 : opening.after,
    methods: opening.at === undefined ? methods : [...methods, "lifecycle"],
  };
}

// Whether those who opened the sockets of a thread still may, asked before each command and each delivery.

/** The close code of a socket whose credential has ended. */
const CREDENTIAL_ENDED = 4401;

interface Caller {
  principal: Principal;
  presented: PresentedCredential;
}

/**
 * Whether the socket may stay open; closes it with 4401 when its credential has ended. A socket without traffic is not
 * checked: a timer would keep its object from hibernating, and nothing is sent in the meantime.
 */
export async function mayContinue(env: Env, socket: WebSocket, { principal, presented }: Caller): Promise<boolean> {
  if (await isStillValid(env, principal, presented)) return true;
  if (socket.readyState === WebSocket.OPEN) socket.close(CREDENTIAL_ENDED, "The credential of this socket has ended.");
  return false;
}

/** Where the Worker puts who is calling; what a client sends under this name is overwritten. */
export const CALLER_HEADER = "x-weir-caller";

export interface SocketCaller {
  principal: Principal;
  configurable: Json;
  /** For the check whether its credential still holds. */
  presented: PresentedCredential;
  dialect: Dialect;
}

interface Subscription {
  id: string;
  filter: StreamFilter;
  /** It has had everything up to this sequence number. */
  after: number;
  opening?: Opening;
}

interface Attachment extends SocketCaller {
  subscriptions: Subscription[];
}

interface Pump {
  reader?: ReadableStreamDefaultReader<Uint8Array>;
}

/** Commands that change the subscriptions of a socket, and `run.start`, after which the stock client sends such commands. */
const SUBSCRIBING = /^(subscription\..*|run\.start)$/;
/**
 * The time without a subscription, in several pauses. In a busy isolate, a late timer fires before messages that have
 * already arrived, so a single pause is not enough. It is longer while no subscription has a run's content: the stock client
 * sends that one second.
 */
const GATHER = { milliseconds: 8, pauses: 3, pausesWithoutContent: 25 };
/** Channels that tell when a run begins, waits and ends. */
const TURNS = new Set(["lifecycle", "input"]);

/** The most events that are read to count those of a subscription. The protocol leaves the count optional. */
const MAX_COUNTED = 2_000;

/** The tag of the sockets of this protocol. */
const CLIENT = "client";

/** The protocol in the object of one thread: its sockets, and streams over SSE. */
export class StreamingProtocol implements ThreadProtocol {
  #pumps = new Map<WebSocket, Pump>();
  /** The latest call of `#pumpSoon` for each socket that waits. */
  #turns = new Map<WebSocket, object>();
  /** The order of pauses over all streams of the Python SDK. */
  readonly #pauses: Pauses;

  constructor(
    private readonly ctx: DurableObjectState,
    private readonly env: Env,
    private readonly thread: ThreadRpc & { opening(): Promise<Opening> },
    private readonly read: ReadLog,
    private readonly state: (at: number) => EventText | undefined,
  ) {
    this.#pauses = new Pauses(() => thread.lastSeq());
    for (const socket of ctx.getWebSockets(CLIENT)) void this.#pump(socket);
  }

  /** SSE frames of what the filter selects: replayed, then live. */
  stream(filter: StreamFilter, start: number | Opening, dialect: Dialect, read: ReadLog): ReadableStream<Uint8Array> {
    const { channels } = filter;
    const opening = typeof start === "number" ? undefined : start;
    const framing = framedFrom([opening], this.state, protocolFraming(filter, dialect, opening));
    const query = opening
      ? openingQuery(filter, opening)
      : { after: start as number, methods: selectMethods(channels) };
    return this.#frames({ query, channels, dialect }, framing, read);
  }

  /** The frames of a connection, over SSE or a socket. The Python SDK gets pauses in their order over all its connections. */
  #frames(
    { query, channels, dialect }: { query: TailQuery; channels: string[]; dialect: Dialect },
    framing: Framing,
    read: ReadLog,
  ): ReadableStream<Uint8Array> {
    if (dialect !== "python") return read(query, framing);
    return this.#pauses.ordered(read(query, markPauses(framing, channels)), channels, query.after);
  }

  accept(request: Request): Response {
    const [client, server] = Object.values(new WebSocketPair()) as [WebSocket, WebSocket];
    const caller = JSON.parse(decodeURIComponent(request.headers.get(CALLER_HEADER) ?? "{}")) as SocketCaller;
    const { workspaceId, credentialId } = caller.principal;
    const isSame = ({ principal }: Attachment) =>
      principal.workspaceId === workspaceId && principal.credentialId === credentialId;
    const same = this.ctx.getWebSockets(CLIENT).filter((socket) => isOpen(socket) && isSame(attachment(socket)));
    if (same.length >= MAX_STREAMS) return problemResponse(tooManyStreams());
    this.ctx.acceptWebSocket(server, [CLIENT]);
    server.serializeAttachment({ ...caller, subscriptions: [] } satisfies Attachment);
    return new Response(null, { status: 101, webSocket: client });
  }

  async onMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    if (!(await mayContinue(this.env, socket, attachment(socket)))) return this.#stop(socket);
    const refused = await this.#limited(socket);
    const command = refused ?? commandIn(message);
    if (typeof command === "string") {
      return send(socket, { type: "error", id: null, error: "invalid_argument", message: command });
    }
    const { principal, configurable } = attachment(socket);
    const { threadId } = parseObjectName(this.ctx.id);
    const by: Commander = { env: this.env, principal, threadId, thread: this.thread, configurable };
    const subscribes = SUBSCRIBING.test(command.method);
    if (subscribes) void this.#stop(socket);
    const answer = await runCommand(by, command, {
      "subscription.subscribe": async (_by, params) => this.#subscribe(socket, parse(StreamFilter, params, "params")),
      "subscription.unsubscribe": async (_by, params) =>
        this.#unsubscribe(socket, parse(Unsubscribe, params, "params").subscription_id),
    });
    send(socket, answer);
    // What is replayed comes after the answer that names the subscription.
    if (subscribes) void this.#pumpSoon(socket);
  }

  /** Each command counts as a request of its credential; why it is refused past the limit. */
  async #limited(socket: WebSocket): Promise<string | undefined> {
    try {
      await limitKey(this.env, attachment(socket).principal);
      return undefined;
    } catch (error) {
      return toProblem(error).detail;
    }
  }

  async onClose(socket: WebSocket, code: number): Promise<void> {
    await this.#stop(socket);
    // The other half of the closing handshake, without which clients wait. 1005 and 1006 only say that there was no code.
    socket.close(code === 1005 || code === 1006 ? 1000 : code);
  }

  async #subscribe(socket: WebSocket, filter: StreamFilter): Promise<CommandResult> {
    const unknown = filter.channels.find((channel) => !knownChannel(channel));
    if (unknown !== undefined) throw new CommandError("invalid_argument", `There is no channel "${unknown}".`);
    if (filter.channels.length === 0) throw new CommandError("invalid_argument", "Name at least one channel.");
    const after = await findStart(this.thread, filter);
    const opening = after === undefined ? await this.thread.opening() : undefined;
    const start = after ?? (opening ? openingQuery(filter, opening).after : 0);
    const subscription = { id: crypto.randomUUID(), filter, after: start, ...(opening && { opening }) };
    const replayed_events = await this.#replayed(subscription, attachment(socket).dialect);
    attach(socket, [...attachment(socket).subscriptions, subscription]);
    return { result: { subscription_id: subscription.id, ...(replayed_events !== undefined && { replayed_events }) } };
  }

  /** How many events of the past the subscription begins with; undefined when the past is too long to be read for it. */
  async #replayed(subscription: Subscription, dialect: Dialect): Promise<number | undefined> {
    const { after } = subscription;
    if ((await this.thread.lastSeq()) - after > MAX_COUNTED) return undefined;
    const query = { after, methods: methodsOf([subscription]), replayOnly: true };
    let count = 0;
    const lines = textLines();
    for await (const bytes of this.read(query, this.#framing([subscription], dialect))) {
      count += lines(bytes).length;
    }
    return count;
  }

  #unsubscribe(socket: WebSocket, id: string): CommandResult {
    const before = attachment(socket).subscriptions;
    const subscriptions = before.filter((one) => one.id !== id);
    if (subscriptions.length === before.length) {
      throw new CommandError("no_such_subscription", "This socket has no such subscription.");
    }
    attach(socket, subscriptions);
    return { result: {} };
  }

  /**
   * Starts the pump after a short time without a subscription. After `run.start`, the stock client in JavaScript sends one
   * subscription for lifecycle events and one for values. If the end of a fast run reaches the client through the first
   * subscription before the second one is served, the client reports a run without output. The Python SDK has a socket for each.
   */
  async #pumpSoon(socket: WebSocket): Promise<void> {
    const { subscriptions, dialect } = attachment(socket);
    if (dialect === "python") return this.#pump(socket);
    const turn = {};
    this.#turns.set(socket, turn);
    const hasContent = subscriptions.some(({ filter }) => filter.channels.some((channel) => !TURNS.has(channel)));
    const pauses = hasContent ? GATHER.pauses : GATHER.pausesWithoutContent;
    for (let pause = 0; pause < pauses; pause++) {
      await scheduler.wait(GATHER.milliseconds);
      if (this.#turns.get(socket) !== turn) return;
    }
    this.#turns.delete(socket);
    await this.#pump(socket);
  }

  /**
   * Sends the events of the socket's subscriptions, in the log's order. A change of the subscriptions restarts the read
   * at the lowest position. Each event is sent once to each subscription.
   */
  async #pump(socket: WebSocket): Promise<void> {
    void this.#stop(socket);
    const { subscriptions, dialect } = attachment(socket);
    if (subscriptions.length === 0 || !isOpen(socket)) return;
    const pump: Pump = {};
    this.#pumps.set(socket, pump);
    const channels = subscriptions.flatMap(({ filter }) => filter.channels);
    const after = Math.floor(Math.min(...subscriptions.map((one) => one.after)));
    const query = { after, methods: methodsOf(subscriptions) };
    pump.reader = this.#frames(
      { query, channels, dialect },
      this.#framing(subscriptions, dialect),
      this.read,
    ).getReader();
    if (!(await this.#forward(socket, pump, subscriptions))) return;
    // The log ended under its reader: the thread was deleted. One of the same id begins at 1.
    attach(
      socket,
      subscriptions.map(({ id, filter }) => ({ id, filter, after: 0 })),
    );
    return this.#pump(socket);
  }

  #framing(subscriptions: Subscription[], dialect: Dialect): Framing {
    const openings = subscriptions.map(({ opening }) => opening);
    return framedFrom(openings, this.state, socketFraming(subscriptions, dialect));
  }

  /** Sends until the log ends (true), or another pump has taken over (false). */
  async #forward(socket: WebSocket, pump: Pump, subscriptions: Subscription[]): Promise<boolean> {
    const lines = textLines();
    for (;;) {
      const { done = true, value } = (await pump.reader?.read()) ?? {};
      if (!done && !(await mayContinue(this.env, socket, attachment(socket)))) {
        void this.#stop(socket);
        return false;
      }
      if (this.#pumps.get(socket) !== pump) return false;
      if (done) return true;
      for (const line of lines(value as Uint8Array)) {
        const [seq, wanting, event] = parseFrame(line);
        if (wanting.some((i) => (subscriptions[i]?.after ?? seq) < seq) && isOpen(socket)) socket.send(event);
        for (const one of subscriptions) one.after = Math.max(one.after, seq);
      }
      // Subscriptions that came since are not this pump's; how far its own have come is.
      const own = new Map(subscriptions.map((one) => [one.id, one]));
      attach(
        socket,
        attachment(socket).subscriptions.map((one) => own.get(one.id) ?? one),
      );
    }
  }

  async onError(socket: WebSocket): Promise<void> {
    await this.#stop(socket);
  }

  async #stop(socket: WebSocket): Promise<void> {
    const pump = this.#pumps.get(socket);
    this.#pumps.delete(socket);
    await pump?.reader?.cancel();
  }
}

const methodsOf = (subscriptions: Subscription[]): EventMethod[] =>
  subscriptions.flatMap(({ filter, opening }) =>
    opening ? openingQuery(filter, opening).methods : selectMethods(filter.channels),
  );

/** One line per event: its sequence number, the indexes of the matching subscriptions, and the event. */
function socketFraming(subscriptions: Subscription[], dialect: Dialect): Framing {
  const show = eventsIn(
    dialect,
    subscriptions.flatMap(({ filter }) => filter.channels),
  );
  const matchers = subscriptions.map(({ filter }) => matcher(filter));
  const open = subscriptions.map(({ filter, opening }) => openingFilter(filter, opening));
  // The state of an opening is for those that open there.
  const isFor = ({ opening }: Subscription, i: number, event: EventText) =>
    event.id === undefined ? open[i]?.(event) : opening?.at === Math.ceil(event.seq);
  return (event) => {
    const shown = show(event);
    const wanting = shown
      ? subscriptions.flatMap((one, i) => (isFor(one, i, event) && matchers[i]?.(shown) ? [i] : []))
      : [];
    return shown && wanting.length > 0 ? `${event.seq} ${wanting.join()} ${shown.json}\n` : "";
  };
}

function parseFrame(line: string): [seq: number, wanting: number[], event: string] {
  const [, seq = "0", wanting = "", event = ""] = /^([\d.]+) ([\d,]+) ([^]*)$/.exec(line) ?? [];
  return [Number(seq), wanting.split(",").map(Number), event];
}

/** The command in a frame, or what is wrong with it. */
function commandIn(message: string | ArrayBuffer): Command | string {
  if (typeof message !== "string") return "Send text frames, each with one command as JSON.";
  if (message.length > BODY_LIMIT) return `A command is larger than ${BODY_LIMIT} characters.`;
  if (countValues(Buffer.from(message), JSON_VALUES) > JSON_VALUES)
    return `A command holds more than ${JSON_VALUES} values.`;
  const value = tryParseExact(message);
  if (value === undefined) return "The frame is not valid JSON.";
  if (nestsDeeper(value)) return `The command nests deeper than ${NESTING} levels.`;
  const result = v.safeParse(Command, value);
  return result.success ? result.output : "A command is an object with id (a number), method and params.";
}

const attachment = (socket: WebSocket): Attachment => socket.deserializeAttachment() as Attachment;

function attach(socket: WebSocket, subscriptions: Subscription[]): void {
  try {
    socket.serializeAttachment({ ...attachment(socket), subscriptions } satisfies Attachment);
  } catch {
    throw new CommandError(
      "invalid_argument",
      "The subscriptions of this socket take too much room. Use another socket.",
    );
  }
}

const isOpen = (socket: WebSocket): boolean => socket.readyState === WebSocket.OPEN;

function send(socket: WebSocket, message: object): void {
  if (isOpen(socket)) socket.send(JSON.stringify(message));
}
