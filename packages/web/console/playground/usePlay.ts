/** The state of the playground: where it comes from, how it is kept, and its columns that run. */
import { useCallback, useEffect, useRef, useState } from "react";
import { handedOver, handOver } from "./handover.ts";
import { playFromRun } from "./sources.ts";
import { type Column, isFresh, keepPlay, keptPlay, newPlay, type Play } from "./play.ts";
import { buildCall, buildInput } from "./request.ts";
import { costOfRun, runAssistant, runModel } from "./run.ts";

/** Milliseconds after the last change. */
const KEEP_MS = 300;

export interface Playing {
  play: Play;
  change: (next: (play: Play) => Play) => void;
  changeColumn: (id: string, next: Partial<Column>) => void;
  /** Keys of providers, by column. They are not kept. */
  keys: Record<string, string>;
  setKey: (id: string, key: string) => void;
  run: (column: Column) => void;
  stop: (id: string) => void;
  /** Opens others instead of the messages; `before` has these then. */
  open: (play: Play) => void;
  before: Play | undefined;
  restore: () => void;
}

export function usePlay(key: string): Playing {
  const [opened] = useState(() => {
    const kept = keptPlay(key);
    const run = handedOver();
    const play = run ? playFromRun(run) : (kept ?? newPlay());
    return { play, before: run && kept && !isFresh(kept) ? kept : undefined };
  });
  const [play, setPlay] = useState(opened.play);
  const [before, setBefore] = useState(opened.before);
  const [keys, setKeys] = useState<Record<string, string>>({});
  const now = useRef(play);
  now.current = play;
  const running = useRef(new Map<string, AbortController>());
  useEffect(() => handOver(undefined), []);
  useEffect(() => {
    const timer = setTimeout(() => keepPlay(key, play), KEEP_MS);
    return () => clearTimeout(timer);
  }, [key, play]);
  useEffect(() => {
    const keep = () => keepPlay(key, now.current);
    const { current } = running;
    addEventListener("pagehide", keep);
    return () => {
      removeEventListener("pagehide", keep);
      for (const controller of current.values()) controller.abort();
      keep();
    };
  }, [key]);

  const change = useCallback((next: (play: Play) => Play) => setPlay(next), []);
  const changeColumn = useCallback(
    (id: string, next: Partial<Column>) =>
      setPlay((held) => ({
        ...held,
        columns: held.columns.map((column) => (column.id === id ? { ...column, ...next } : column)),
      })),
    [],
  );
  const stop = (id: string) => running.current.get(id)?.abort();
  const run = (column: Column) => {
    stop(column.id);
    const controller = new AbortController();
    running.current.set(column.id, controller);
    const isLatest = () => running.current.get(column.id) === controller;
    const show = (result: Column["result"]) => {
      if (isLatest()) changeColumn(column.id, { result });
    };
    const { signal } = controller;
    if (column.provider !== "assistant")
      return void runModel(() => buildCall(now.current, column, keys[column.id] ?? ""), signal, show);
    let last: Column["result"];
    void runAssistant(
      column.assistant,
      () => buildInput(now.current),
      signal,
      (result) => show((last = result)),
    ).then(async () => {
      if (last?.state !== "done" || last.run === undefined) return;
      const cost = await costOfRun(last.run);
      if (cost !== undefined) show({ ...last, cost });
    });
  };
  return {
    play,
    change,
    changeColumn,
    keys,
    setKey: (id, key) => setKeys((held) => ({ ...held, [id]: key })),
    run,
    stop,
    open: (next) => {
      setBefore(isFresh(now.current) ? undefined : now.current);
      setPlay(next);
    },
    before,
    restore: () => {
      if (before) setPlay(before);
      setBefore(undefined);
    },
  };
}
