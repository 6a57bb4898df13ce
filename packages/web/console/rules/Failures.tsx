/** The runs on which a rule has failed, newest first. */
import { useState } from "react";
import { State } from "../../resources/State.tsx";
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { firstLine } from "../../ui/format.ts";
import { Modal } from "../../ui/Modal.tsx";
import { Payload } from "../../ui/Payload.tsx";
import { Facts } from "../../resources/Fields.tsx";
import { Section } from "../../resources/Section.tsx";
import work from "../../resources/work.module.css";
import { SHOWN, useFailures, useNamedRuns } from "./queries.ts";
import css from "./rules.module.css";
import { RunLink } from "./RunLink.tsx";
import type { Failure, NamedRun, Rule } from "./types.ts";
import { actionText } from "./labels.ts";

export function Failures({ rule }: { rule: Rule }) {
  const failures = useFailures(rule);
  const rows = failures.data ?? [];
  const runs = useNamedRuns(
    rule.session_id,
    rows.map(({ run_id }) => run_id),
  );
  const [open, setOpen] = useState<Failure>();
  return (
    <Section title="Failures">
      <Loaded query={failures} what="failures" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={work.none}>No run has failed in the last 30 days.</p>
          ) : (
            <>
              <Table
                label="Failures"
                columns={makeColumns(rule.session_id, runs.data, setOpen)}
                rows={rows}
                rowKey={({ run_id }) => run_id}
                onOpen={setOpen}
              />
              {rows.length === SHOWN && <p className={work.note}>These are the last {SHOWN}.</p>}
            </>
          )
        }
      </Loaded>
      {open && (
        <Modal title="Failure" onClose={() => setOpen(undefined)}>
          <Facts
            facts={{
              Run: <RunLink id={open.run_id} project={rule.session_id} run={runs.data?.get(open.run_id)} />,
              Action: actionText(open.action),
              Time: <Time at={open.time} exact />,
              "Tried again": open.will_retry ? "yes" : "no: it is given up",
            }}
          />
          <Payload label="Error" text={open.error} />
        </Modal>
      )}
    </Section>
  );
}

const makeColumns = (
  project: string,
  runs: Map<string, NamedRun> | undefined,
  onOpen: (failure: Failure) => void,
): Column<Failure>[] => [
  {
    id: "state",
    name: "Status",
    width: 104,
    cell: ({ will_retry }) => (
      <State {...(will_retry ? { state: "pending", word: "tries again" } : { state: "error", word: "given up" })} />
    ),
  },
  {
    id: "error",
    name: "Error",
    width: 140,
    kept: true,
    grows: true,
    cell: (failure) => (
      <button type="button" className={css.error} title={failure.error} onClick={() => onOpen(failure)}>
        {firstLine(failure.error)}
      </button>
    ),
  },
  {
    id: "run",
    name: "Run",
    width: 110,
    kept: true,
    cell: ({ run_id }) => <RunLink id={run_id} project={project} run={runs?.get(run_id)} />,
  },
  { id: "action", name: "Action", width: 110, cell: ({ action }) => actionText(action) },
  { id: "time", name: "Time", width: 88, end: true, cell: ({ time }) => <Time at={time} /> },
];
