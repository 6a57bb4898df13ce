/** One turn: the question, its result, and the actions on it. */
import { Check, ChevronLeft, ChevronRight, Pencil, RotateCcw, X } from "lucide-react";
import { lazy, memo, Suspense, useRef } from "react";
import { Link } from "wouter";
import { useMay } from "../../api/me.ts";
import { CopyButton, IconButton } from "../../ui/Button.tsx";
import { costText, durationText, tokensText } from "../../ui/format.ts";
import { clockTime } from "../../ui/time.ts";
import type { Connected } from "../session/stream.ts";
import { MessageText } from "./MessageText.tsx";
import { EditMessage } from "./EditMessage.tsx";
import { MediaList } from "./MediaList.tsx";
import { Thumbs } from "../../traces/feedback/Thumbs.tsx";
import css from "./Log.module.css";
import { type Decided, decidedText } from "./past.ts";
import { type Subagent, Subagents } from "./Subagents.tsx";
import { Tick, type TickKind } from "./Tick.tsx";
import type { Checkpoint, Fork } from "../../api/checkpoints.ts";
import { ToolLine, Tools } from "./Tools.tsx";
import type { Part, Turn as TurnShape } from "./turns.ts";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { together } from "../../traces/feedback/queries.ts";

// In the chunk of the stream's client, which is there when this is shown.
const NotSent = lazy(async () => ({ default: (await import("../session/StreamClient.tsx")).NotSent }));

export interface TurnActions {
  edit: (messageId: string | undefined) => void;
  resend: (messageId: string, text: string) => void;
  retry: (messageId: string) => void;
  unsent: (messageId: string) => void;
  goTo: (tip: string) => void;
  rerun: (checkpoint: string) => void;
  open: (callId: string) => void;
}

export const Turn = memo(function Turn({
  turn,
  connected,
  last,
  growing,
  editing,
  busy,
  position,
  forks,
  checkpoints,
  subagents,
  opened,
  actions,
  failed,
}: {
  turn: TurnShape;
  /** Undefined until the stream's client is there. */
  connected: Connected | undefined;
  last: boolean;
  /** Its answer is being written. */
  growing: boolean;
  editing: boolean;
  /** A run is under way, or a decision waits: what is said cannot be changed now. */
  busy: boolean;
  position: { index: number; of: number };
  forks: ReadonlyMap<string, Fork>;
  checkpoints: ReadonlyMap<string, Checkpoint>;
  subagents: ReadonlyMap<string, Subagent>;
  opened: string | undefined;
  actions: TurnActions;
  /** Why its run failed. */
  failed: string | undefined;
}) {
  const { asked } = turn;
  const article = useRef<HTMLElement>(null);
  const fork = turn.messageIds.map((id) => forks.get(id)).find((one) => one !== undefined);
  const at = checkpoints.get(turn.id)?.at;
  // Without the checkpoint before it, another version of the question would be added at the end of the thread.
  const may = useMay();
  const again = asked !== undefined && !busy && may("runs.create") && checkpoints.get(asked.id)?.from !== undefined;
  const answer = turn.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n\n");
  const runs = [...new Set(turn.messageIds.flatMap((id) => checkpoints.get(id)?.run ?? []))];
  const scored = runs.at(-1);
  const rerun = busy || !may("runs.create") ? undefined : actions.rerun;
  return (
    <article
      ref={article}
      className={css.turn}
      tabIndex={-1}
      data-turn={turn.id}
      aria-posinset={position.index}
      aria-setsize={position.of}
    >
      {asked && (
        <div className={css.row}>
          <h2 className="visually-hidden">You{at ? `, ${clockTime(at)}` : ""}</h2>
          <Tick kind="asked" checkpoint={checkpoints.get(asked.id)} parts={!!fork} stop={last} onRerun={rerun} />
          {editing ? (
            <EditMessage
              text={asked.text}
              onLeave={() => {
                actions.edit(undefined);
                setTimeout(() => article.current?.querySelector<HTMLElement>('[aria-label="Edit message"]')?.focus());
              }}
              onSend={(text) => actions.resend(asked.id, text)}
            />
          ) : (
            <div className={css.asked}>
              <MediaList media={asked.media} own />
              {asked.text !== "" && <p className="text">{asked.text}</p>}
            </div>
          )}
          {!editing && (
            <div className={css.actions}>
              {fork && <Switcher fork={fork} onGo={actions.goTo} />}
              {again && (
                <IconButton label="Edit message" onClick={() => actions.edit(asked.id)}>
                  <Pencil size={14} aria-hidden />
                </IconButton>
              )}
              <CopyButton text={asked.text} label="Copy message" />
              {connected && !checkpoints.has(asked.id) && (
                <Suspense>
                  <NotSent
                    stream={connected}
                    id={asked.id}
                    className={css.notSent}
                    onRetry={() => actions.unsent(asked.id)}
                  />
                </Suspense>
              )}
              {at && (
                <time className={css.time} dateTime={at}>
                  {clockTime(at)}
                </time>
              )}
            </div>
          )}
        </div>
      )}
      {turn.parts.map((part, i) => (
        <div key={`${part.kind}-${part.id}`} className={css.row} data-part={part.kind}>
          <Tick
            kind={tickKind(part, growing && i === turn.parts.length - 1)}
            checkpoint={part.kind === "text" ? checkpoints.get(part.id) : undefined}
            stop={last}
            onRerun={rerun}
          />
          <PartView
            part={part}
            checkpoints={checkpoints}
            growing={growing && i === turn.parts.length - 1}
            subagents={subagents}
            opened={opened}
            onOpen={actions.open}
          />
        </div>
      ))}
      {failed !== undefined && <RunFailed error={failed} />}
      {!(last && busy) && (answer !== "" || runs.length > 0) && (
        <div className={css.actions}>
          {!asked && fork && <Switcher fork={fork} onGo={actions.goTo} />}
          {answer !== "" && <CopyButton text={answer} label="Copy answer" />}
          {again && (
            <IconButton label="Regenerate answer" onClick={() => actions.retry(asked.id)}>
              <RotateCcw size={14} aria-hidden />
            </IconButton>
          )}
          {scored !== undefined && <Thumbs run={{ id: scored }} />}
          {runs.map((run, i) => (
            <Link key={run} className={css.trace} href={`/traces/${run}`}>
              Trace{runs.length > 1 && ` ${i + 1}`}
            </Link>
          ))}
          {/* Last, because the cost comes later. */}
          <TurnMetrics turn={turn} checkpoints={checkpoints} runs={runs} />
        </div>
      )}
    </article>
  );
});

function tickKind(part: Part, now: boolean): TickKind {
  return part.kind === "failed" ? "failed" : now ? "now" : "step";
}

/** How long subagents worked, by their checkpoints: the same during the run and after it. */
function measureSeconds(part: Part & { kind: "subagents" }, checkpoints: ReadonlyMap<string, Checkpoint>) {
  const [from, to] = [part.from, part.to].map((id) => Date.parse(checkpoints.get(id ?? "")?.at ?? ""));
  const took = ((to ?? Number.NaN) - (from ?? Number.NaN)) / 1_000;
  return Number.isFinite(took) && took > 0 ? took : undefined;
}

/** "1.24 s · 93 tokens · gpt-5 · $0.0012": from the question to the last message, by their checkpoints. */
function TurnMetrics({
  turn,
  checkpoints,
  runs,
}: {
  turn: TurnShape;
  checkpoints: ReadonlyMap<string, Checkpoint>;
  runs: string[];
}) {
  const end = checkpoints.get(turn.messageIds.at(-1) ?? "")?.at;
  const cost = useCost(runs, turn.tokens > 0, end);
  const took = (Date.parse(end ?? "") - Date.parse(checkpoints.get(turn.asked?.id ?? "")?.at ?? "")) / 1_000;
  const metrics = [
    ...(Number.isFinite(took) && took > 0 ? [durationText(took)] : []),
    ...(turn.tokens > 0 ? [tokensText(turn.tokens)] : []),
    ...turn.models,
    ...(cost === undefined ? [] : [costText(cost)]),
  ];
  return <span className={css.facts}>{metrics.join(" · ")}</span>;
}

function PartView({
  part,
  checkpoints,
  growing,
  subagents,
  opened,
  onOpen,
}: {
  part: Part;
  checkpoints: ReadonlyMap<string, Checkpoint>;
  growing: boolean;
  subagents: ReadonlyMap<string, Subagent>;
  opened: string | undefined;
  onOpen: (id: string) => void;
}) {
  switch (part.kind) {
    case "text":
      return (
        <>
          <MessageText text={part.text} reasoning={part.reasoning} growing={growing} />
          <MediaList media={part.media} />
          {part.stopped && <p className={css.stopped}>Stopped before the answer was complete.</p>}
        </>
      );
    case "decided":
      return <DecidedLine decided={part.decided} />;
    case "tools":
      return <Tools id={part.id} calls={part.calls} />;
    case "failed":
      return <ToolLine call={part.call} />;
    case "subagents":
      return (
        <Subagents
          calls={part.calls}
          took={measureSeconds(part, checkpoints)}
          known={subagents}
          opened={opened}
          onOpen={onOpen}
        />
      );
  }
}

function DecidedLine({ decided }: { decided: Decided }) {
  return (
    <p className={css.answered} data-decided={decided.refused ? "no" : "yes"}>
      {decided.refused ? <X size={14} aria-hidden /> : <Check size={14} aria-hidden />}
      <span className="text">{decidedText(decided)}</span>
      {decided.at && <time dateTime={decided.at}>{clockTime(decided.at)}</time>}
    </p>
  );
}

function Switcher({ fork, onGo }: { fork: Fork; onGo: (tip: string) => void }) {
  const of = fork.tips.length;
  const previous = fork.tips[fork.index - 1];
  const next = fork.tips[fork.index + 1];
  return (
    <span className={css.switcher}>
      <IconButton
        label={`Previous branch, ${fork.index + 1} of ${of}`}
        disabled={previous === undefined}
        onClick={() => previous && onGo(previous)}
      >
        <ChevronLeft size={14} aria-hidden />
      </IconButton>
      <span>
        {fork.index + 1} of {of}
      </span>
      <IconButton
        label={`Next branch, ${fork.index + 1} of ${of}`}
        disabled={next === undefined}
        onClick={() => next && onGo(next)}
      >
        <ChevronRight size={14} aria-hidden />
      </IconButton>
    </span>
  );
}

/** Where the run failed, at the end of its turn. The strip says what can be done. */
function RunFailed({ error }: { error: string }) {
  const [first = "", ...rest] = error.split("\n");
  return (
    <div className={`${css.row} ${css.runFailed}`}>
      <Tick kind="failed" />
      <p>
        The run failed here. <bdi>{first}</bdi>
      </p>
      {rest.length > 0 && (
        <details>
          <summary>Show the full error ({rest.length + 1} lines)</summary>
          {/* A box that scrolls must be reachable by keyboard. */}
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <pre tabIndex={0} role="region" aria-label="Error">
            {error}
          </pre>
        </details>
      )}
    </div>
  );
}

// Costs of runs, as their traces have them: the server knows the prices of models.

interface Traced {
  id: string;
  end_time: string | null;
  total_cost: string | null;
}

/** A trace is stored after its run: of a run that has just ended it is read again, milliseconds. */
const AGAIN_MS = 2_000;
const LATELY_MS = 60_000;
/** A trace that is not stored by then is not stored at all, or was deleted. */
const MOST_READS = LATELY_MS / AGAIN_MS;

const readTraced = together<Traced | undefined>(async (ids) => {
  const query = { id: ids, select: ["id", "end_time", "total_cost"], limit: ids.length };
  const { runs } = await call<{ runs: Traced[] }>("POST", "/api/v1/runs/query", query);
  return new Map(runs.map((run) => [run.id, run]));
});

/** US dollars for all these runs; undefined where it is unknown, or the model has no price. `at`: when the last ended. */
function useCost(runs: string[], wanted: boolean, at: string | undefined): number | undefined {
  const may = useMay();
  const cost = useQuery({
    queryKey: ["cost", ...runs],
    enabled: wanted && runs.length > 0 && may("traces.read"),
    queryFn: async () => {
      const traced = await Promise.all(runs.map(readTraced));
      const isStored = traced.every((run) => typeof run?.end_time === "string");
      return { isStored, total: traced.reduce((sum, run) => sum + Number(run?.total_cost ?? 0), 0) };
    },
    staleTime: Infinity,
    refetchInterval: ({ state: { data, dataUpdateCount } }) => {
      const isLate = at !== undefined && Date.now() - Date.parse(at) > LATELY_MS;
      return data?.isStored === false && !isLate && dataUpdateCount < MOST_READS && AGAIN_MS;
    },
  });
  return cost.data?.isStored && cost.data.total > 0 ? cost.data.total : undefined;
}
