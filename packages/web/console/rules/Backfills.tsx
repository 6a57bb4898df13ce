/** Backfills apply a rule to runs that are older than it. */
import { useState } from "react";
import { useMay } from "../../api/me.ts";
import { State } from "../../resources/State.tsx";
import { Loaded } from "../../resources/states.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Time } from "../../ui/Time.tsx";
import { Button } from "../../ui/Button.tsx";
import { quantityText } from "../../ui/format.ts";
import { ModalForm } from "../../resources/ModalForm.tsx";
import { localTime, soonTime } from "../../ui/time.ts";
import { Input } from "../../resources/Form.tsx";
import { Section } from "../../resources/Fields.tsx";
import work from "../../resources/work.module.css";
import { startBackfill, useBackfills } from "./queries.ts";
import type { Backfill, Rule } from "./types.ts";

const WEEK_MS = 7 * 86_400_000;

export function Backfills({ rule }: { rule: Rule }) {
  const may = useMay();
  const backfills = useBackfills(rule.id);
  const [starting, setStarting] = useState(false);
  return (
    <Section
      title="Backfills"
      act={may("traces.write") && <Button onClick={() => setStarting(true)}>Apply to earlier runs</Button>}
    >
      <Loaded query={backfills} what="backfills" rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <p className={work.none}>
              The rule takes the runs that come after it. A backfill applies it to those that were there before.
            </p>
          ) : (
            <>
              {!rule.is_enabled && rows.some(({ status }) => status === "running") && (
                <p className={work.note}>The rule is paused, and with it its backfills.</p>
              )}
              <Table label="Backfills" columns={COLUMNS} rows={rows} rowKey={({ id }) => id} />
            </>
          )
        }
      </Loaded>
      {starting && <Start rule={rule} onClose={() => setStarting(false)} />}
    </Section>
  );
}

function Start({ rule, onClose }: { rule: Rule; onClose: () => void }) {
  const [from, setFrom] = useState(() => localTime(Date.now() - WEEK_MS));
  const [to, setTo] = useState(() => localTime(Date.now() + 60_000));
  const start = async () => {
    if (from === "" || to === "") throw new Error("Choose both times.");
    if (!(to > from)) throw new Error("The end must be after the begin.");
    await startBackfill(rule.id, new Date(from).toISOString(), new Date(to).toISOString());
  };
  return (
    <ModalForm
      title="Apply to earlier runs"
      text="The rule takes the matching runs that began in this time and that it has not taken yet. Models may cost money."
      submit="Start backfill"
      needs="traces.write"
      onSubmit={start}
      onClose={onClose}
    >
      <Input label="From" type="datetime-local" value={from} onChange={({ target }) => setFrom(target.value)} />
      <Input label="To" type="datetime-local" value={to} onChange={({ target }) => setTo(target.value)} />
    </ModalForm>
  );
}

const COLUMNS: Column<Backfill>[] = [
  {
    id: "state",
    name: "Status",
    width: 110,
    kept: true,
    cell: ({ status }) => (
      <State {...(status === "running" ? { state: "running" } : { state: "success", word: "completed" })} />
    ),
  },
  {
    id: "range",
    name: "Runs of",
    width: 140,
    kept: true,
    grows: true,
    cell: ({ start_time, end_time }) => {
      const range = `${soonTime(start_time)} – ${soonTime(end_time)}`;
      return <span title={range}>{range}</span>;
    },
  },
  {
    id: "left",
    name: "Still to read",
    width: 110,
    end: true,
    kept: true,
    cell: ({ parts_left }) => (parts_left === 0 ? "nothing" : quantityText(parts_left, "part")),
  },
  { id: "created", name: "Started", width: 88, end: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { id: "completed", name: "Completed", width: 88, end: true, cell: ({ completed_at }) => <Time at={completed_at} /> },
];
