/** A run's events as a classic SSE answer: while it is made, and joined later. */
import { sseResponse } from "../http/sse.ts";
import { found } from "./access.ts";
import { classicFrames, methodsOf } from "./classic.ts";
import { readEvents, type RunRequest, type ThreadRpc } from "./rpc.ts";

/** Starts the run and streams it. `base` is the path of its thread, empty for a stateless run. */
export async function streamRun(
  thread: ThreadRpc,
  request: RunRequest,
  base: string,
  namespaces?: string[],
): Promise<Response> {
  const modes = request.stream_mode ?? ["values"];
  const cancelOnDisconnect = request.on_disconnect === "cancel";
  const events = await thread.startAndFollow(request, { methods: methodsOf(modes), cancelOnDisconnect });
  const subgraphs = request.stream_subgraphs ?? false;
  const frames = classicFrames(readEvents(events), { modes, subgraphs, after: 0, namespaces });
  const path = `${base}/runs/${request.run_id}`;
  return sseResponse(frames, { "content-location": path, location: `${path}/stream` });
}

interface JoinOptions {
  cancel_on_disconnect: boolean;
  stream_mode?: string[];
  namespace?: string[];
  /** What the caller shows already: events up to this checkpoint are left out. A real Last-Event-ID takes precedence. */
  checkpoint_id?: string;
}

/** Streams a run that was started before: from after `lastEventId`, or from its beginning (`-1`, or none). */
export async function joinRun(
  thread: ThreadRpc,
  runId: string,
  lastEventId: string | undefined,
  options: JoinOptions,
): Promise<Response> {
  const run = found(await thread.getRun(runId), "Run");
  const kwargs = run.kwargs as { stream_mode: string[]; subgraphs: boolean };
  const modes = options.stream_mode ?? kwargs.stream_mode;
  const start = ((await thread.firstSeq(runId)) ?? 1) - 1;
  const seen = Math.max(Number(lastEventId ?? -1) || 0, start);
  const shown =
    options.checkpoint_id && seen === start ? await thread.seqOfCheckpoint(runId, options.checkpoint_id) : undefined;
  const after = Math.max(seen, shown ?? 0);
  // The `messages` mode shows messages so far, so it is framed from the run's first event on.
  const from = modes.includes("messages") ? start : after;
  const cancelOnDisconnect = options.cancel_on_disconnect;
  const events = await thread.follow({ after: from, runId, methods: methodsOf(modes), cancelOnDisconnect });
  const { subgraphs } = kwargs;
  return sseResponse(classicFrames(readEvents(events), { modes, subgraphs, after, namespaces: options.namespace }));
}
