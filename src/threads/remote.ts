/** A thread as its callers use it: every call and every stream survives restarts of the thread's object. */
import { findOutage, retry, retryUntilAnswered } from "../lib/retry.ts";
import { toProblem } from "../lib/problem.ts";
import type { Json } from "../lib/json.ts";
import type * as types from "./types.ts";
import {
  type InterruptLink,
  type AcceptedResponse,
  type ResponseByLink,
  type NewLink,
  type LinkState as Standing,
  type ResponseChannel,
  objectName,
  type ThreadState,
} from "./types.ts";
import type { CopyCursor } from "./store/copy.ts";
import { type TailQuery, readLines } from "./log/events.ts";
import {
  cursorInFrames,
  cursorInHistory,
  cursorInLog,
  cursorInResult,
  unlessDeleted,
  type StreamCursor,
  resumeBytes,
} from "./stream-cursor.ts";
import { type Sleep, sleepOn } from "./log/sleepers.ts";
import type * as rpc from "./rpc.ts";
import type { ThreadRpc } from "./rpc.ts";
import { objectNamed, rpcProxy } from "../lib/rpc.ts";
import { keysFor } from "../access/encryption/keys.ts";

type Bytes = ReadableStream<Uint8Array>;

/**
 * The object restarts at every deploy of the Worker, and when the platform moves it. Calls that may be carried out twice
 * are repeated with a new stub (see `retry`). Streams continue where they were cut. `join` waits through any number
 * of restarts. `updateState`, and `create` where a second call may fail, are repeated only with an id of their request.
 */
export class RemoteThread implements rpc.ThreadRpc {
  constructor(
    private readonly stub: () => rpc.ThreadRpc,
    private readonly sleep: (after: number) => Sleep,
  ) {}

  async create(request: rpc.CreateThread): Promise<types.Thread> {
    // Without an id of the request a second attempt may find the thread of the first one, and refuse it, or leave out its supersteps.
    const again = request.request_id !== undefined || (request.ifExists === "do_nothing" && !request.supersteps);
    return again ? retry(() => this.stub().create(request)) : this.stub().create(request);
  }

  async get(mostValues?: number): Promise<types.Thread | undefined> {
    return retry(() => this.stub().get(mostValues));
  }

  async summary(): Promise<types.ThreadSummary | undefined> {
    return retry(() => this.stub().summary());
  }

  async title(): Promise<string | undefined> {
    return retry(() => this.stub().title());
  }

  async patch(change: rpc.ThreadPatch): Promise<types.Thread> {
    return retry(() => this.stub().patch(change));
  }

  async remove(only?: Json): Promise<boolean | "kept"> {
    return retry(async (attempt) => (await this.stub().remove(only)) || attempt > 1);
  }

  async removeIdle(): Promise<boolean> {
    return retry(() => this.stub().removeIdle());
  }

  async makeLink(link: NewLink): Promise<InterruptLink> {
    return retry(() => this.stub().makeLink(link));
  }

  async ownLink(interruptId: string, via: ResponseChannel): Promise<InterruptLink | undefined> {
    return retry(() => this.stub().ownLink(interruptId, via));
  }

  async listLinks(interruptId: string): Promise<Standing[]> {
    return retry(() => this.stub().listLinks(interruptId));
  }

  async removeLink(interruptId: string, linkId: string): Promise<boolean> {
    return retry(async (attempt) => (await this.stub().removeLink(interruptId, linkId)) || attempt > 1);
  }

  async linkState(linkId: string): Promise<Standing | undefined> {
    return retry(() => this.stub().linkState(linkId));
  }

  async respondByLink(linkId: string, given: ResponseByLink): ReturnType<rpc.ThreadRpc["respondByLink"]> {
    return retry(() => this.stub().respondByLink(linkId, given));
  }

  async acceptedResponses(interruptIds: string[]): Promise<Record<string, AcceptedResponse>> {
    return retry(() => this.stub().acceptedResponses(interruptIds));
  }

  async copyFrom(threadId: string, metadata?: Json): Promise<types.Thread> {
    return retry(() => this.stub().copyFrom(threadId, metadata));
  }

  async copyPage(from?: CopyCursor): Promise<rpc.CopyPage> {
    return retry(() => this.stub().copyPage(from));
  }

  async keepLatest(): Promise<boolean> {
    return retry(() => this.stub().keepLatest());
  }

  async storage(): Promise<types.StorageFigures | undefined> {
    return retry(() => this.stub().storage());
  }

  async startRun(request: rpc.RunRequest): Promise<types.Run> {
    return retry(() => this.stub().startRun(request));
  }

  async launch(request: rpc.RunRequest): Promise<{ run: types.Run; seq: number }> {
    return retry(() => this.stub().launch(request));
  }

  async startAndFollow(request: rpc.RunRequest, query: Omit<TailQuery, "after" | "runId">): Promise<Bytes> {
    const events = await retry(() => this.stub().startAndFollow(request, query));
    return resumeBytes(events, cursorInLog(this.stub, { ...query, runId: request.run_id }), this.sleep);
  }

  async startAndStream(request: rpc.RunRequest, options: rpc.RunStream): Promise<Bytes> {
    const frames = await retry(() => this.stub().startAndStream(request, options));
    return resumeBytes(frames, this.#inRun(request.run_id, options), this.sleep);
  }

  async streamRun(runId: string, options: rpc.RunStream): Promise<Bytes> {
    const frames = await retry(() => this.stub().streamRun(runId, options));
    return resumeBytes(frames, this.#inRun(runId, options), this.sleep);
  }

  async streamThread(modes: string[], after?: number): Promise<Bytes> {
    // A stream that is opened again must begin where this one did, also when nothing has come yet.
    const last = await this.lastSeq();
    const from = after === undefined ? last : after > last ? 0 : after;
    const open = (seen = from) => this.stub().streamThread(modes, seen);
    const position = cursorInFrames({ open, has: (seq) => this.stub().hasEvent(seq) });
    return resumeBytes(await retry(() => open()), position, this.sleep);
  }

  async getRun(runId: string): Promise<types.Run | undefined> {
    return retry(() => this.stub().getRun(runId));
  }

  async listRuns(query: rpc.RunsQuery): Promise<types.Run[]> {
    return retry(() => this.stub().listRuns(query));
  }

  async openRuns(most: number): Promise<types.OpenRun[]> {
    return retry(() => this.stub().openRuns(most));
  }

  async cancel(runId: string, action: types.CancelAction, wait: boolean): Promise<types.RunStatus | undefined> {
    return retry(async (attempt) => {
      try {
        const ended = await this.stub().cancel(runId, action, wait);
        // The attempt before may have stopped it.
        return attempt > 1 && ended === "interrupted" ? undefined : ended;
      } catch (error) {
        // The run is deleted. The attempt before may have done that.
        if (attempt === 1 || findOutage(error) !== undefined || toProblem(error).status !== 404) throw error;
        return undefined;
      }
    });
  }

  async cancelMany(which: rpc.OpenRuns, action: types.CancelAction): Promise<number> {
    return retry(() => this.stub().cancelMany(which, action));
  }

  async deleteRun(runId: string): Promise<boolean> {
    return retry(async (attempt) => (await this.stub().deleteRun(runId)) || attempt > 1);
  }

  async join(runId: string): Promise<Bytes> {
    const open = () => retryUntilAnswered(() => this.stub().join(runId));
    return resumeBytes(await open(), cursorInResult(open), this.sleep);
  }

  async task(taskId: string): Promise<types.TaskView | undefined> {
    return retry(() => this.stub().task(taskId));
  }

  async grant(runId: string, created: number, stopped: boolean): Promise<boolean> {
    return retry(() => this.stub().grant(runId, created, stopped));
  }

  async setHook(taskId: string, id: string, hook: Json | undefined, most: number): Promise<void> {
    return retry(() => this.stub().setHook(taskId, id, hook, most));
  }

  async cancelTask(taskId: string): Promise<void> {
    return retry(() => this.stub().cancelTask(taskId));
  }

  async follow(query: TailQuery): Promise<Bytes> {
    return resumeBytes(await retry(() => this.stub().follow(query)), cursorInLog(this.stub, query), this.sleep);
  }

  async lastSeq(runId?: string): Promise<number> {
    return retry(() => this.stub().lastSeq(runId));
  }

  async hasEvent(seq: number): Promise<boolean> {
    return retry(() => this.stub().hasEvent(seq));
  }

  async firstSeq(runId: string): Promise<number | undefined> {
    return retry(() => this.stub().firstSeq(runId));
  }

  async waitingThread(): Promise<types.WaitingThread | undefined> {
    return retry(() => this.stub().waitingThread());
  }

  async state(query: rpc.StateQuery): Promise<types.ThreadState | undefined> {
    return retry(() => this.stub().state(query));
  }

  async history(query: rpc.HistoryQuery): Promise<Bytes> {
    return resumeBytes(await retry(() => this.stub().history(query)), cursorInHistory(this.stub, query));
  }

  async updateState(update: rpc.StateChange, checkpoint?: types.CheckpointAddress, graphId?: string) {
    const write = async () => this.stub().updateState(update, checkpoint, graphId);
    return update.update_id === undefined ? write() : retry(write);
  }

  #inRun(runId: string, options: rpc.RunStream): StreamCursor {
    const open = async (last?: number) =>
      this.stub()
        .streamRun(runId, last === undefined ? options : { ...options, seen: last })
        .catch(unlessDeleted);
    return cursorInFrames({ open, has: (seq) => this.stub().hasEvent(seq) });
  }
}

// How to reach a thread, and how to read what it streams.

/** Reads the one object that a stream holds. */
export async function readJson(stream: ReadableStream<Uint8Array>): Promise<Json> {
  return new Response(stream).json();
}

/** Reads the states out of a history. */
export async function* readStates(stream: ReadableStream<Uint8Array>): AsyncGenerator<ThreadState, void, void> {
  const read = readLines<ThreadState>();
  for await (const bytes of stream) yield* read(bytes);
}

/** The thread of this workspace with this id. It may not exist. Calls survive restarts of its object. */
export function threadStub(env: Env, workspaceId: string, threadId: string): ThreadRpc {
  const object = () => threadObject(env, workspaceId, threadId);
  return new RemoteThread(
    () => rpcProxy<ThreadRpc>(object(), keysFor(env, workspaceId)),
    (after) => sleepOn(object(), after),
  );
}

/** The stub of the Durable Object itself. */
export function threadObject(env: Env, workspaceId: string, threadId: string): ReturnType<Env["THREAD"]["get"]> {
  return objectNamed(env, env.THREAD, objectName(workspaceId, threadId));
}

/**
 * Texts as the lines of a stream, each made on demand: the stream holds one. Errors before the first line are
 * thrown immediately.
 */
export async function lineStream(texts: AsyncGenerator<string, void, void>): Promise<ReadableStream<Uint8Array>> {
  const encoder = new TextEncoder();
  let first: IteratorResult<string, void> | undefined = await texts.next();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = first ?? (await texts.next());
        first = undefined;
        if (next.done) controller.close();
        else controller.enqueue(encoder.encode(`${next.value}\n`));
      },
      async cancel() {
        await texts.return();
      },
    },
    { highWaterMark: 0 },
  );
}
