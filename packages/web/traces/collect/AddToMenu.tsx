/** The places that runs are added to. What the caller may not do is disabled. */
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { useRefusal } from "../../api/me.ts";
import menu from "../../ui/menu.module.css";
import { PLACE_NEEDS, type PlaceKind } from "./queries.ts";

const ITEMS: [kind: PlaceKind, words: string][] = [
  ["dataset", "Add to dataset"],
  ["queue", "Add to queue"],
];

export default function AddToMenu({ trigger, onKind }: { trigger: ReactNode; onKind: (kind: PlaceKind) => void }) {
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={menu.menu} align="end" collisionPadding={8}>
          {ITEMS.map(([kind, words]) => (
            <Place key={kind} kind={kind} words={words} onKind={onKind} />
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

function Place({ kind, words, onKind }: { kind: PlaceKind; words: string; onKind: (kind: PlaceKind) => void }) {
  const refusal = useRefusal(PLACE_NEEDS[kind]);
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
