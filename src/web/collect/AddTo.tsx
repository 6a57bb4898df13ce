/** The menu that adds runs to a dataset or a queue. What the caller may not do is disabled. */
import { FolderPlus } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { lazy, Suspense, useState } from "react";
import { useMay } from "../api/me.ts";
import type { Permission } from "../../principal.ts";
import controls from "../ui/controls.module.css";
import menu from "../ui/menu.module.css";
import type { Collected, PlaceKind } from "./queries.ts";

const AddRuns = lazy(async () => ({ default: (await import("./AddRuns.tsx")).AddRuns }));

const ITEMS: [kind: PlaceKind, words: string, needs: Permission][] = [
  ["dataset", "Add to dataset", "datasets.write"],
  ["queue", "Add to queue", "queues.write"],
];

export function AddTo({
  runs,
  content,
  look = "plain",
}: {
  runs: Collected[];
  content?: { inputs: unknown; outputs: unknown } | undefined;
  look?: "plain" | "quiet";
}) {
  const may = useMay();
  const [kind, setKind] = useState<PlaceKind>();
  return (
    <>
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger className={`${controls.button} ${controls[look]}`} disabled={runs.length === 0}>
          <FolderPlus size={14} aria-hidden /> Add to
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content className={menu.menu} align="end" collisionPadding={8}>
            {ITEMS.map(([one, words, needs]) => (
              <DropdownMenu.Item
                key={one}
                className={menu.item}
                disabled={!may(needs)}
                title={may(needs) ? undefined : `Needs the permission ${needs}`}
                onSelect={() => setKind(one)}
              >
                {words}
              </DropdownMenu.Item>
            ))}
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      <Suspense>
        {kind && <AddRuns kind={kind} runs={runs} {...(content && { content })} onClose={() => setKind(undefined)} />}
      </Suspense>
    </>
  );
}
