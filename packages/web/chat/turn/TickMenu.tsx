/** The menu of a checkpoint. */
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import menu from "../../ui/menu.module.css";

export default function TickMenu({
  trigger,
  time,
  checkpoint,
  onRerun,
}: {
  trigger: ReactNode;
  time: string;
  checkpoint: string;
  onRerun: ((checkpoint: string) => void) | undefined;
}) {
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={menu.menu} align="start" sideOffset={4} collisionPadding={8}>
          <DropdownMenu.Label className={menu.label}>{time}</DropdownMenu.Label>
          {onRerun && (
            <DropdownMenu.Item className={menu.item} onSelect={() => onRerun(checkpoint)}>
              Run again from here
            </DropdownMenu.Item>
          )}
          <DropdownMenu.Item
            className={menu.item}
            onSelect={() => void navigator.clipboard.writeText(checkpoint).catch(() => undefined)}
          >
            Copy checkpoint id
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
