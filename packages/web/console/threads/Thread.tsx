/**
 * One thread: its checkpoints, the state at each, what changed since the one before, and the ways to continue from it.
 */
import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { useRefusal } from "../../api/me.ts";
import type { ThreadState } from "../../api/types.ts";
import { threadTitle } from "../../chat/thread-row.ts";
import { costText, quantityText, tokensText } from "../../ui/format.ts";
import { Value } from "../../traces/trace/Value.tsx";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { exactTime } from "../../ui/time.ts";
import { Back, Page } from "../../resources/Page.tsx";
import { PauseButton } from "../control/PauseButton.tsx";
import { Changes } from "../../resources/changes/Changes.tsx";
import { keepRange } from "../../resources/range.ts";
import { useReadOn } from "../../api/queries.ts";
import { State } from "../../resources/State.tsx";
import { Empty, Loaded } from "../../resources/states.tsx";
import { Time } from "../../ui/Time.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { EditState } from "./EditState.tsx";
import { readOwner, useCheckpoints, useSpent, useStateAt, useThreadRow } from "./queries.ts";
import css from "./threads.module.css";

const stateId = (state: ThreadState) => state.checkpoint.checkpoint_id;

export function Thread({ id }: { id: string }) {
  const [params, setParams] = useSearchParams();
  const thread = useThreadRow(id);
  const checkpoints = useCheckpoints(id);
  const spent = useSpent(thread.data);
  const all = checkpoints.data?.rows ?? [];
  const wanted = params.get("checkpoint");
  const chosen = wanted === null ? all[0] : all.find((one) => stateId(one) === wanted);
  // A checkpoint that the address names may be on a later page.
  const sought = wanted !== null && !chosen;
  useReadOn(checkpoints, sought);
  return (
    <Page
      whole
      title={threadTitle(thread.data)}
      purpose={id}
      back={<Back href={`/console/threads${keepRange(params.toString())}`} name="Threads" />}
      actions={
        <>
          <PauseButton target={{ thread: id }} what="thread" />
          <Link href={`/chat/${id}`} className={`${controls.button} ${controls.plain} ${css.open}`}>
            Open chat
          </Link>
        </>
      }
      tools={
        thread.data && (
          <p className={css.facts}>
            <State state={thread.data.status} />
            {readOwner(thread.data) !== "" && <span>{readOwner(thread.data)}</span>}
            <span>created {exactTime(thread.data.created_at)}</span>
            {spent.data && (
              <span>
                {quantityText(spent.data.run_count, "run")} · {tokensText(spent.data.total_tokens)} ·{" "}
                {costText(spent.data.total_cost)}
              </span>
            )}
          </p>
        )
      }
    >
      <div className={css.split}>
        <div className={css.list} data-scroller>
          <Loaded query={checkpoints} what="checkpoints">
            {({ rows }) =>
              rows.length === 0 ? (
                <Empty
                  title="This thread has no checkpoint."
                  text="A run writes one after each step. Send a message in the chat to start one."
                />
              ) : (
                <>
                  <Table
                    label="Checkpoints"
                    columns={buildColumns((one) => choose(stateId(one)))}
                    rows={rows}
                    rowKey={stateId}
                    onOpen={(one) => choose(stateId(one))}
                    openKey={chosen && stateId(chosen)}
                  />
                  {checkpoints.hasNextPage && (
                    <div>
                      <Button
                        disabled={checkpoints.isFetchingNextPage}
                        onClick={() => void checkpoints.fetchNextPage()}
                      >
                        Show more
                      </Button>
                    </div>
                  )}
                </>
              )
            }
          </Loaded>
        </div>
        {chosen && <Checkpoint key={stateId(chosen)} thread={id} checkpoint={chosen} onPin={choose} />}
        {sought && checkpoints.data && !checkpoints.hasNextPage && (
          <div className={css.detail}>
            <Empty title="This thread has no such checkpoint." text="Choose one from the list." />
          </div>
        )}
      </div>
    </Page>
  );

  function choose(checkpoint: string) {
    setParams(
      (now) => {
        const next = new URLSearchParams(now);
        next.set("checkpoint", checkpoint);
        return next;
      },
      { replace: true },
    );
  }
}

/** The nodes that come next. The marks of the begin and the end are words here. */
const nextNodes = ({ next }: ThreadState) =>
  next.map((node) => (node === "__start__" ? "start" : node)).join(", ") || "end";

function buildColumns(onChoose: (state: ThreadState) => void): Column<ThreadState>[] {
  return [
    {
      id: "step",
      name: "Step",
      width: 64,
      kept: true,
      cell: (one) => (
        <button type="button" className={controls.link} onClick={() => onChoose(one)}>
          {one.metadata?.step ?? "–"}
        </button>
      ),
    },
    { id: "next", name: "Next", width: 120, kept: true, grows: true, cell: (one) => nextNodes(one) },
    { id: "source", name: "Source", width: 88, cell: (one) => one.metadata?.source ?? "" },
    {
      id: "time",
      name: "Written",
      width: 88,
      end: true,
      cell: ({ created_at }) => <Time at={created_at} />,
    },
  ];
}

function Checkpoint({
  thread,
  checkpoint,
  onPin,
}: {
  thread: string;
  checkpoint: ThreadState;
  /** Keeps a checkpoint in view when a newer one arrives. */
  onPin: (checkpoint: string) => void;
}) {
  const refusal = useRefusal("threads.write");
  const id = stateId(checkpoint);
  const state = useStateAt(thread, id);
  const before = useStateAt(thread, checkpoint.parent_checkpoint?.checkpoint_id);
  const [editing, setEditing] = useState(false);
  return (
    // A box that scrolls must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section className={css.detail} aria-label="Checkpoint" tabIndex={0}>
      <div className={css.acts}>
        <Link href={`/chat/${thread}?at=${id}`} className={`${controls.button} ${controls.plain} ${css.open}`}>
          Fork in the chat
        </Link>
        <Button
          aria-pressed={editing}
          title={refusal}
          disabled={!state.data || refusal !== undefined}
          onClick={() => {
            onPin(id);
            setEditing(!editing);
          }}
        >
          Edit state
        </Button>
      </div>
      <Loaded query={state} what="state">
        {(now) => (
          <>
            {editing && (
              <EditState
                thread={thread}
                checkpoint={id}
                values={now.values ?? {}}
                onDone={(made) => {
                  setEditing(false);
                  if (made !== undefined) onPin(made);
                }}
              />
            )}
            <Changes before={checkpoint.parent_checkpoint ? before.data?.values : {}} now={now.values ?? {}} />
            <Value label="State" value={now.values} />
          </>
        )}
      </Loaded>
    </section>
  );
}
