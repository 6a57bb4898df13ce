import { Bookmark } from "lucide-react";
import controls from "../../ui/controls.module.css";
import { usePressed } from "../../ui/pressed.ts";
import css from "./list.module.css";

const loadMenu = async () => (await import("./SavedViewsMenu.tsx")).default;

/** The button of the menu of saved views. */
export function SavedViews() {
  const { Opened, button } = usePressed(loadMenu);
  const trigger = (
    <button {...button} className={`${controls.button} ${controls.plain} ${css.columns}`}>
      <Bookmark size={14} aria-hidden /> <span>Views</span>
    </button>
  );
  return Opened ? <Opened trigger={trigger} /> : trigger;
}
