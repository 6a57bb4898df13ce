/** The button that adds runs to a dataset or a queue. */
import { FolderPlus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import controls from "../../ui/controls.module.css";
import { usePressed } from "../../ui/on-demand.ts";
import type { Collected, TargetKind } from "./queries.ts";

const AddRuns = lazy(async () => ({ default: (await import("./AddRuns.tsx")).AddRuns }));
const loadMenu = async () => (await import("./AddToMenu.tsx")).default;

export function AddTo({
  runs,
  content,
  look = "plain",
}: {
  runs: Collected[];
  content?: { inputs: unknown; outputs: unknown } | undefined;
  look?: "plain" | "quiet";
}) {
  const [kind, setKind] = useState<TargetKind>();
  const { Opened, button } = usePressed(loadMenu);
  const trigger = (
    <button {...button} className={`${controls.button} ${controls[look]}`} disabled={runs.length === 0}>
      <FolderPlus size={14} aria-hidden /> Add to
    </button>
  );
  return (
    <>
      {Opened ? <Opened trigger={trigger} onKind={setKind} /> : trigger}
      <Suspense>
        {kind && <AddRuns kind={kind} runs={runs} {...(content && { content })} onClose={() => setKind(undefined)} />}
      </Suspense>
    </>
  );
}
