/** A trace beside the list. */
import { Maximize2, X } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import controls from "../../ui/controls.module.css";
import { IconButton } from "../../ui/IconButton.tsx";
import css from "./list.module.css";
import { TraceView, type View } from "../trace/TraceView.tsx";
import type { TraceRow } from "../types.ts";

export function Peek({
  row,
  project,
  address,
  onClose,
}: {
  row: TraceRow;
  project: string | null;
  /** Of the trace's own page. */
  address: string;
  onClose: () => void;
}) {
  const [run, setRun] = useState(row.id);
  const [view, setView] = useState<View>("tree");
  return (
    <aside className={css.peek} aria-label={`Trace ${row.name}`}>
      <header className={css.peekHead}>
        <h2 className="line" title={row.name}>
          {row.name}
        </h2>
        <Link href={address} className={controls.icon} aria-label="Open the page of this trace" title="Open (Enter)">
          <Maximize2 size={16} aria-hidden />
        </Link>
        <IconButton label="Close (Esc)" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </header>
      <TraceView traceId={row.trace_id} project={project} run={run} view={view} onRun={setRun} onView={setView} />
    </aside>
  );
}
