/** The columns of signing secrets, and of crons with a webhook. */
import { Trash2 } from "lucide-react";
import { IconButton } from "../../ui/IconButton.tsx";
import css from "../../resources/parts.module.css";
import { State } from "../../resources/State.tsx";
import type { Column } from "../../ui/Table.tsx";
import { Ahead, Time } from "../../ui/Time.tsx";
import type { HookedCron, WebhookSecret } from "./queries.ts";

export const secretColumns = (onDelete: (row: WebhookSecret) => void): Column<WebhookSecret>[] => [
  {
    id: "hint",
    name: "Secret",
    width: 140,
    kept: true,
    grows: true,
    cell: ({ hint }) => <span className={css.mono}>{hint}…</span>,
  },
  {
    id: "expires",
    name: "Signs until",
    width: 132,
    kept: true,
    cell: ({ expires_at }) => (expires_at === null ? "next rotation" : <Ahead at={expires_at} />),
  },
  { id: "created", name: "Created", width: 88, end: true, cell: ({ created_at }) => <Time at={created_at} /> },
  {
    id: "delete",
    name: "",
    width: 64,
    kept: true,
    end: true,
    cell: (row) => (
      <IconButton label={`Delete ${row.hint}`} onClick={() => onDelete(row)}>
        <Trash2 size={16} aria-hidden />
      </IconButton>
    ),
  },
];

export const cronColumns = (nameAssistant: (row: HookedCron) => string): Column<HookedCron>[] => [
  {
    id: "state",
    name: "State",
    width: 88,
    cell: ({ enabled }) => (
      <State {...(enabled ? { state: "success", word: "active" } : { state: "idle", word: "paused" })} />
    ),
  },
  {
    id: "webhook",
    name: "Address",
    width: 180,
    kept: true,
    grows: true,
    cell: ({ webhook }) => <span title={webhook}>{webhook}</span>,
  },
  { id: "schedule", name: "Schedule", width: 120, kept: true, cell: ({ schedule }) => <code>{schedule}</code> },
  { id: "assistant", name: "Assistant", width: 120, cell: nameAssistant },
  {
    id: "next",
    name: "Next run",
    width: 130,
    end: true,
    cell: ({ next_run_date }) => <Ahead at={next_run_date} />,
  },
];
