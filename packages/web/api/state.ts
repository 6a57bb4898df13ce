/** The newest state of a thread: one request for the page and the stream's client, sent while their code loads. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call, callFor, none } from "./http.ts";
import { stateRead } from "./requests.ts";
import type { ThreadState } from "./types.ts";

interface Reading {
  response: Promise<ThreadState | null>;
  /** Undefined while it is not answered. */
  state?: ThreadState | null;
}

const reading = new Map<string, Reading>();

/** Milliseconds for which a state that was read is shared: until the view that is opening has it. */
const SHARED_MS = 5_000;

/**
 * The thread's state, null where there is none. It is requested while the rest of the view loads, and the page and the
 * stream's client share one request.
 *
 * @param anew the shared request does not count: it may be older than a change that is known
 */
export function readState(threadId: string, anew = false): Promise<ThreadState | null> {
  const shared = anew ? undefined : reading.get(threadId);
  return shared ? shared.response : share(threadId, call<ThreadState>(...stateRead(threadId).request));
}

/** Reads the state for a view that opens. The request may have been sent ahead. */
export function openState(threadId: string): void {
  void share(threadId, callFor<ThreadState>(stateRead(threadId).request));
}

function share(threadId: string, request: Promise<ThreadState>): Promise<ThreadState | null> {
  const read: Reading = { response: request.catch(none) };
  reading.set(threadId, read);
  const drop = () => reading.get(threadId) === read && reading.delete(threadId);
  read.response.then((state) => {
    read.state = state;
    setTimeout(drop, SHARED_MS);
  }, drop);
  return read.response;
}

/** The state as it was just read; undefined while it is unknown. */
export const sharedState = (threadId: string): ThreadState | null | undefined => reading.get(threadId)?.state;

/** The state has changed, or is about to: the next read is a new request. */
export function forgetState(threadId: string): void {
  reading.delete(threadId);
}

/**
 * The thread's current state, read once per phase, and again when the thread has changed. Null when it has none.
 *
 * @param change when the thread changed, if it did since it was opened: the state of this phase may be older
 */
export function useThreadState(
  threadId: string | undefined,
  phase: number,
  change: string | undefined,
  enabled: boolean,
) {
  const [opened] = useState(phase);
  return useQuery({
    queryKey: ["state", threadId, phase, change],
    enabled: enabled && threadId !== undefined,
    queryFn: () => readState(threadId ?? "", phase !== opened || change !== undefined),
    staleTime: 0,
    gcTime: 0,
  });
}
