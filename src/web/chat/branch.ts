/** Which branch is in view (the address says), where branches part, and the checkpoints beside the messages. */
import { useCallback, useMemo, useState } from "react";
import { useSearchParams } from "wouter";
import { useHistory } from "../api/queries.ts";
import type { RawMessage, ThreadState } from "../api/types.ts";
import { messagesOf, type Stream } from "./agent.ts";
import { type Checkpoint, checkpointBefore, checkpointsByMessage, type Fork, forksOf, idsOf } from "./branches.ts";
import { useSettledAt } from "./clock.ts";

export interface Branch {
  /** The checkpoint in view, where it is not the newest branch. */
  at: string | undefined;
  place: { index: number; of: number } | undefined;
  forks: ReadonlyMap<string, Fork>;
  checkpoints: ReadonlyMap<string, Checkpoint>;
  /** The messages of the path in view. */
  messages: RawMessage[];
  goTo: (tip: string | undefined) => void;
  /** The checkpoint from which a message was asked. */
  before: (messageId: string) => string | undefined;
  /** A run is about to start, from a checkpoint or from the newest: what is not before it goes out of view. */
  leave: (checkpoint: string | undefined) => void;
}

interface Run {
  /** The messages it starts from, where that is not the newest checkpoint. */
  base: RawMessage[] | undefined;
  gone: ReadonlySet<string>;
}

const NO_RUN: Run = { base: undefined, gone: new Set() };

/** `stopped`: the reader stopped the last run, and what it had said so far stays in view. */
export function useBranch(stream: Stream, running: boolean, stopped: boolean): Branch {
  const [params, setParams] = useSearchParams();
  const history = useHistory(stream.threadId ?? undefined, !running);
  const settledAt = useSettledAt(running);
  const states = useMemo(() => history.data ?? [], [history.data]);
  const fresh = !history.isFetching && history.dataUpdatedAt > settledAt && !running;
  const [run, setRun] = useState(NO_RUN);

  const find = (id: string | undefined) => states.find((state) => state.checkpoint.checkpoint_id === id);
  const asked = params.get("at") ?? undefined;
  const head = states[0];
  const other = asked === undefined || find(asked) === head ? undefined : find(asked);
  const at = other?.checkpoint.checkpoint_id;
  const live = messagesOf(stream);
  const truth = fresh && !stopped ? head : undefined;
  const messages = useMemo(
    () => other?.values?.messages ?? (truth ? settled(live, truth, states) : underway(live, run)),
    [other, truth, live, states, run],
  );

  const key = messages.flatMap((message) => (message.id ? [message.id] : [])).join();
  const forks = useMemo(() => forksOf(states, key === "" ? [] : key.split(",")), [states, key]);
  const checkpoints = useMemo(() => checkpointsByMessage(states, at), [states, at]);
  const goTo = useCallback(
    (tip: string | undefined) =>
      setParams(tip === undefined || tip === states[0]?.checkpoint.checkpoint_id ? {} : { at: tip }),
    [setParams, states],
  );
  const parting = [...forks.values()].at(-1);
  return {
    at,
    place: at !== undefined && parting ? { index: parting.index, of: parting.tips.length } : undefined,
    forks,
    checkpoints,
    messages,
    goTo,
    before: (messageId) => checkpointBefore(states, at, messageId),
    leave: (checkpoint) => {
      const from = checkpoint === undefined ? head : find(checkpoint);
      const kept = new Set(from ? idsOf(from) : []);
      const gone = from ? live.filter((one) => one.id && !kept.has(one.id) && !isUnsent(one, states)) : [];
      setRun({
        base: checkpoint === undefined ? undefined : from?.values?.messages,
        gone: new Set(gone.map((one) => one.id ?? "")),
      });
    },
  };
}

/**
 * What a settled thread says: its newest checkpoint, and what was never sent. The stream keeps more than that: a
 * stopped answer, and after a fork to an earlier step also the messages that the fork left behind.
 */
function settled(live: RawMessage[], head: ThreadState, states: ThreadState[]): RawMessage[] {
  const kept = new Set(idsOf(head));
  const shown = live.filter((one) => kept.has(one.id ?? "") || isUnsent(one, states));
  const unsent = shown.filter((one) => !kept.has(one.id ?? ""));
  return shown.length - unsent.length >= kept.size ? shown : [...(head.values?.messages ?? []), ...unsent];
}

function underway(live: RawMessage[], { base, gone }: Run): RawMessage[] {
  const first = new Set((base ?? []).map((one) => one.id));
  const rest = live.filter((one) => !gone.has(one.id ?? "") && !first.has(one.id));
  return base ? [...base, ...rest] : rest;
}

/** A question that no checkpoint has. */
function isUnsent(message: RawMessage, states: ThreadState[]): boolean {
  return message.type === "human" && !states.some((state) => idsOf(state).includes(message.id ?? ""));
}
