/** The menu of columns: which of them are shown. */
import { Check } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import menu from "../../ui/menu.module.css";

export default function ColumnsMenu({
  trigger,
  columns,
  hidden,
  onHidden,
}: {
  trigger: ReactNode;
  columns: { id: string; name: ReactNode }[];
  hidden: ReadonlySet<string>;
  onHidden: (hidden: ReadonlySet<string>) => void;
}) {
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={menu.menu} align="end" collisionPadding={8}>
          {columns.map(({ id, name }) => (
            <DropdownMenu.CheckboxItem
              key={id}
              className={menu.item}
              checked={!hidden.has(id)}
              onSelect={(event) => event.preventDefault()}
              onCheckedChange={(shown) => {
                const next = new Set(hidden);
                if (shown) next.delete(id);
                else next.add(id);
                onHidden(next);
              }}
            >
              <span className={menu.check}>{!hidden.has(id) && <Check size={14} aria-hidden />}</span>
              {name}
            </DropdownMenu.CheckboxItem>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
