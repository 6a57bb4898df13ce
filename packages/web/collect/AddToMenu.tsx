/** The places that runs are added to. What the caller may not do is disabled. */
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { useMay } from "../api/me.ts";
import type { Permission } from "../../../src/principal.ts";
import menu from "../ui/menu.module.css";
import type { PlaceKind } from "./queries.ts";

const ITEMS: [kind: PlaceKind, words: string, needs: Permission][] = [
  ["dataset", "Add to dataset", "datasets.write"],
  ["queue", "Add to queue", "queues.write"],
];

export default function AddToMenu({ trigger, onKind }: { trigger: ReactNode; onKind: (kind: PlaceKind) => void }) {
  const may = useMay();
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={menu.menu} align="end" collisionPadding={8}>
          {ITEMS.map(([kind, words, needs]) => (
            <DropdownMenu.Item
              key={kind}
              className={menu.item}
              disabled={!may(needs)}
              title={may(needs) ? undefined : `Needs the permission ${needs}`}
              onSelect={() => onKind(kind)}
            >
              {words}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
