/**
 * The page's state of one thread, and how each update changes it. The stream, the state, the checkpoints and the
 * list of runs arrive in any order; this reducer is the only place in which they meet.
 */
import type { Interrupt, RawMessage } from "../../api/types.ts";
import { readRole } from "../../../../src/agents/prompts/role.ts";
import { readText } from "../turn/messages.ts";
import type { Step } from "../../api/checkpoints.ts";

/** The thread's state as the server gave it. */
export interface Read {
  messages: RawMessage[];
  interrupts: Interrupt[];
  /** No node is due. */
  finished: boolean;
  /** The error that the last run ended with. */
  failed?: string;
}

/** Text of a run that ended before its message was in a checkpoint. */
export interface Partial {
  /** The message after which it was written. */
  after: string;
  message: RawMessage;
}

/** An answer of this tab that no checkpoint shows yet. */
interface MadeDecision {
  at: string;
  after: string;
  words: string;
  refused: boolean;
}

interface Run {
  /** This tab started it. */
  mine: boolean;
  /** The server says that it is open; the stream alone may still replay a run that is over. */
  sure: boolean;
  /** It is over, and the state after it is not read yet. */
  ended: boolean;
  /** This tab stopped it. */
  stopped?: boolean;
  /** The messages it started from, where they are known. */
  base: RawMessage[] | undefined;
}

export interface Thread {
  /** Grows when a run begins or ends. A state that was requested in an earlier phase is not valid for this one. */
  phase: number;
  steps: Step[];
  read: Read | undefined;
  /** Messages of the branches that were opened, by checkpoint. */
  tips: ReadonlyMap<string, RawMessage[]>;
  /** The checkpoint that the address names. */
  at: string | undefined;
  live: RawMessage[];
  loading: boolean;
  /** Messages of the stream that are on no path in view: what a run adds is what the stream has besides. */
  gone: ReadonlySet<string>;
  /** Questions of this tab that the server did not take. */
  unsent: ReadonlySet<string>;
  run: Run | undefined;
  partials: Partial[];
  /** Interrupts whose answer is under way. */
  answered: ReadonlySet<string>;
  said: MadeDecision[];
}

export type News =
  /** The stream's messages, and whether it sees a run. */
  | { type: "live"; messages: RawMessage[]; loading: boolean }
  /** `phase`: the phase in which the state was requested. */
  | { type: "read"; phase: number; state: Read }
  | { type: "steps"; steps: Step[] }
  | { type: "tip"; checkpoint: string; messages: RawMessage[] }
  | { type: "at"; checkpoint: string | undefined }
  /** Whether the server has an open run. */
  | { type: "runs"; open: boolean }
  /** This tab starts a run, from the messages given or from the newest state. `again`: the question that was not sent. */
  | { type: "submit"; base?: RawMessage[]; again?: string }
  | { type: "refused" }
  /** The start of this tab's run had no answer: the server may have it. */
  | { type: "unanswered-start" }
  | { type: "stop" }
  | { type: "answer"; ids: string[]; said: MadeDecision[] }
  | { type: "unanswered"; ids: string[] };

const NONE: ReadonlySet<string> = new Set();

export const begin = (partials: Partial[] = []): Thread => ({
  phase: 0,
  steps: [],
  read: undefined,
  tips: new Map(),
  at: undefined,
  live: [],
  loading: false,
  gone: NONE,
  unsent: NONE,
  run: undefined,
  partials,
  answered: new Set(),
  said: [],
});

const collectIds = (messages: RawMessage[]) => new Set(messages.flatMap(({ id }) => id ?? []));

export function reduce(thread: Thread, news: News): Thread {
  const { run, read } = thread;
  switch (news.type) {
    case "live": {
      const next = { ...thread, live: news.messages, loading: news.loading };
      // A run that follows another immediately, such as a queued one, continues in the same view.
      if (news.loading && !thread.loading && (run?.ended ?? true)) return follows(thread, next, run?.sure ?? false);
      return !news.loading && thread.loading && run && !run.ended ? ends(next) : next;
    }
    case "runs":
      if (news.open && (run?.ended ?? true)) return follows(thread, thread, true);
      if (news.open) return run?.sure ? thread : { ...thread, run: { ...run!, sure: true } };
      // A run that the server does not have: the stream replayed it, or did not see its end.
      return run && !run.ended && !run.mine ? ends(thread) : thread;
    case "read": {
      if (news.phase !== thread.phase) return thread;
      if (run && !run.ended) return run.mine ? thread : joins(thread, run, news.state);
      return settles(thread, news.state);
    }
    case "steps":
      return { ...thread, steps: news.steps };
    case "tip":
      return { ...thread, tips: new Map([...thread.tips, [news.checkpoint, news.messages]]) };
    case "at":
      return { ...thread, at: news.checkpoint };
    case "submit": {
      // A message that is sent during a run waits in the tab until that run has ended.
      if (run?.sure && !run.ended) return thread;
      // After a run has ended and before the state after it is read, the newest state known is what that run shows.
      const from = news.base ?? (run?.ended ? underway(thread) : thread.read?.messages);
      const gone = new Set(from ? without(thread, from) : thread.gone);
      if (news.again !== undefined) gone.delete(news.again);
      const started: Run = { mine: true, sure: true, ended: false, base: from };
      return { ...starts(thread, started), gone, unsent: NONE, at: undefined };
    }
    case "refused":
      return run?.mine && !thread.loading ? refused(thread) : thread;
    case "unanswered-start":
      return {
        ...(run?.mine && !run.ended ? ends(thread) : thread),
        gone: without(thread, run?.base ?? read?.messages ?? []),
      };
    case "stop":
      return { ...thread, run: run && { ...run, stopped: true } };
    case "answer":
      return {
        ...thread,
        answered: new Set([...thread.answered, ...news.ids]),
        said: [...thread.said, ...news.said],
      };
    case "unanswered":
      return { ...thread, answered: new Set([...thread.answered].filter((id) => !news.ids.includes(id))), said: [] };
  }
}

const starts = (thread: Thread, run: Run): Thread => ({ ...thread, phase: thread.phase + 1, run });
const ends = (thread: Thread): Thread => ({
  ...thread,
  phase: thread.phase + 1,
  run: thread.run && { ...thread.run, ended: true },
});

/** Messages that the stream has and this path does not. */
function without({ live, gone }: Thread, path: RawMessage[]): ReadonlySet<string> {
  const kept = collectIds(path);
  return new Set([...gone, ...collectIds(live)].filter((id) => !kept.has(id)));
}

/** A run of another tab, or one that waited: it continues in the view that is there. What the stream has besides is not its own. */
function follows(before: Thread, now: Thread, sure: boolean): Thread {
  const { run, read } = before;
  const base = run ? underway(before) : read?.messages;
  const next = starts(now, { mine: false, sure, ended: false, base });
  return base ? { ...next, gone: without(before, base) } : next;
}

/** A run of another tab: the state read during it is its path, and what only its view so far had is on another one. */
function joins(thread: Thread, run: Run, state: Read): Thread {
  const now = collectIds(state.messages);
  const left = [...collectIds([...(run.base ?? []), ...(thread.read?.messages ?? [])])].filter((id) => !now.has(id));
  return { ...thread, gone: new Set([...thread.gone, ...left]), run: { ...run, base: state.messages } };
}

function refused(thread: Thread): Thread {
  const kept = collectIds(thread.read?.messages ?? []);
  const own = thread.live.filter(
    ({ type, id = "" }) => readRole(type) === "human" && !kept.has(id) && !thread.gone.has(id),
  );
  return { ...thread, phase: thread.phase + 1, run: undefined, unsent: collectIds(own) };
}

function settles(thread: Thread, state: Read): Thread {
  const partials = thread.run?.sure ? [...thread.partials, ...lostTexts(thread, state)] : thread.partials;
  const gone = without(thread, state.messages);
  return { ...thread, read: state, run: undefined, partials, gone, answered: NONE };
}

/**
 * What the run had written and the state after it does not have: it was stopped, or it failed. A run that completed has
 * lost nothing: a text that its state does not have is of an attempt that the server's restart ended.
 */
function lostTexts(thread: Thread, { messages, finished }: Read): Partial[] {
  if (finished && !thread.run?.stopped) return [];
  const kept = collectIds(messages);
  const known = new Set([...thread.partials.map(({ message }) => message.id), ...collectIds(thread.run?.base ?? [])]);
  const shown = underway(thread);
  return shown.flatMap((message, i) => {
    const text = readRole(message.type) === "ai" ? readText(message) : "";
    const after = shown.slice(0, i).findLast(({ id }) => id && kept.has(id))?.id;
    if (text.trim() === "" || !after || !message.id || kept.has(message.id) || known.has(message.id)) return [];
    const following = messages.slice(messages.findIndex(({ id }) => id === after) + 1);
    if (following.some((one) => readText(one).startsWith(text))) return [];
    return [{ after, message: { id: message.id, type: "ai", content: text, stopped: true } }];
  });
}

function underway({ run, live, read, gone }: Thread): RawMessage[] {
  const base = run?.base ?? (live.length === 0 ? (read?.messages ?? []) : []);
  const known = collectIds(base);
  const byId = new Map(live.map((message) => [message.id, message]));
  const rest = live.filter(({ id = "" }) => !gone.has(id) && !known.has(id));
  return [...base.map((message) => byId.get(message.id) ?? message), ...rest];
}

export const isRunning = ({ run }: Thread): boolean => run !== undefined && run.sure && !run.ended;

/** The messages of the path in view; undefined while they are not known. */
export function listMessages(thread: Thread): RawMessage[] | undefined {
  const { at, tips, read, run, live } = thread;
  if (at !== undefined) return tips.get(at);
  if (!run && !read) return live.length > 0 ? live : undefined;
  if (!run) return read && withPartials([...read.messages, ...unsentAfter(thread, read)], thread.partials);
  if (!run.base && !read && live.length === 0) return undefined;
  // Until the server confirms it, a run changes nothing.
  if (!run.sure && read) return withPartials(read.messages, thread.partials);
  return withPartials(underway(thread), thread.partials);
}

/** Without what no checkpoint has: the text of a stopped run, and questions that were not sent. */
export const listSaved = ({ unsent }: Thread, messages: RawMessage[]): RawMessage[] =>
  messages.filter(({ id = "", stopped }) => !stopped && !unsent.has(id));

function unsentAfter({ live, unsent }: Thread, { messages }: Read): RawMessage[] {
  const known = collectIds(messages);
  return live.filter(({ id = "" }) => unsent.has(id) && !known.has(id));
}

function withPartials(messages: RawMessage[], partials: Partial[]): RawMessage[] {
  if (partials.length === 0) return messages;
  const there = collectIds(messages);
  return messages.flatMap((message) => [
    message,
    ...partials.filter((one) => one.after === message.id && !there.has(one.message.id!)).map((one) => one.message),
  ]);
}

/** Interrupts that wait for a person at the newest state. */
export function listInterrupts({ run, read, answered }: Thread): Interrupt[] {
  return run && (run.sure || run.ended) ? [] : (read?.interrupts ?? []).filter((one) => !answered.has(one.id));
}

/** The graph stands between two nodes, and waits for no person. */
export const isUnfinished = ({ read }: Thread): boolean =>
  read !== undefined && !read.finished && read.interrupts.length === 0;
