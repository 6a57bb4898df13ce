/** The menu of views of the list that a person named: the conditions, the time range and the order, as the address has them. */
import { Trash2 } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "wouter";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import menu from "../../ui/menu.module.css";
import css from "./list.module.css";

const KEY = "weir.traces.views";

interface SavedView {
  name: string;
  /** The address, without the trace that is open beside the list. */
  search: string;
}

const readViews = (): SavedView[] => JSON.parse(localStorage.getItem(KEY) ?? "[]") as SavedView[];

export default function SavedViewsMenu({ trigger }: { trigger: ReactNode }) {
  const [params, setParams] = useSearchParams();
  const [views, setViews] = useState(readViews);
  const [name, setName] = useState("");
  const kept = new URLSearchParams(params);
  kept.delete("peek");
  const search = kept.toString();
  const keep = (next: SavedView[]) => {
    localStorage.setItem(KEY, JSON.stringify(next));
    setViews(next);
  };
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={menu.menu} align="end" collisionPadding={8}>
          {views.map((view) => (
            <div key={view.name} className={css.saved}>
              <DropdownMenu.Item
                className={menu.item}
                aria-current={view.search === search || undefined}
                onSelect={() => setParams(new URLSearchParams(view.search))}
              >
                {view.name}
              </DropdownMenu.Item>
              <DropdownMenu.Item
                className={menu.item}
                aria-label={`Delete the view ${view.name}`}
                onSelect={(event) => {
                  event.preventDefault();
                  keep(views.filter((one) => one !== view));
                }}
              >
                <Trash2 size={14} aria-hidden />
              </DropdownMenu.Item>
            </div>
          ))}
          {views.length > 0 && <DropdownMenu.Separator className={menu.rule} />}
          <form
            className={css.save}
            onSubmit={(event) => {
              event.preventDefault();
              const given = name.trim();
              if (given === "") return;
              keep([...views.filter((one) => one.name !== given), { name: given, search }]);
              setName("");
            }}
          >
            <input
              className={controls.field}
              aria-label="Name of this view"
              placeholder="Name of this view"
              maxLength={60}
              value={name}
              onChange={(event) => setName(event.target.value)}
              // The menu chooses entries by their first letters.
              onKeyDown={(event) => event.key !== "Escape" && event.stopPropagation()}
            />
            <Button type="submit">Save</Button>
          </form>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
