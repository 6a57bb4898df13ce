/** The places that runs are added to. What the caller may not do is disabled. */
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { useRefusal } from "../../api/me.ts";
import menu from "../../ui/menu.module.css";
import { TARGET_PERMISSIONS, type TargetKind } from "./queries.ts";

const ITEMS: [kind: TargetKind, words: string][] = [
  ["dataset", "Add to dataset"],
  ["queue", "Add to queue"],
];

export default function AddToMenu({ trigger, onKind }: { trigger: ReactNode; onKind: (kind: TargetKind) => void }) {
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={menu.menu} align="end" collisionPadding={8}>
          {ITEMS.map(([kind, words]) => (
            <TargetItems key={kind} kind={kind} words={words} onKind={onKind} />
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

function TargetItems({ kind, words, onKind }: { kind: TargetKind; words: string; onKind: (kind: TargetKind) => void }) {
  const refusal = useRefusal(TARGET_PERMISSIONS[kind]);
  return (
    <DropdownMenu.Item
      className={menu.item}
      disabled={refusal !== undefined}
      title={refusal}
      onSelect={() => onKind(kind)}
    >
      {words}
    </DropdownMenu.Item>
  );
}
