/** What can be done with a thread of the list. */
import { Ellipsis } from "lucide-react";
import controls from "../../ui/controls.module.css";
import { usePressed } from "../../ui/pressed.ts";
import type { Props } from "./OpenedThreadMenu.tsx";
import css from "./Sidebar.module.css";

const loadMenu = async () => (await import("./OpenedThreadMenu.tsx")).default;

export function ThreadMenu(props: Props) {
  const { Opened, button } = usePressed(loadMenu);
  const trigger = (
    <button {...button} className={`${controls.icon} ${css.menu}`} aria-label={`More about ${props.title}`}>
      <Ellipsis size={16} aria-hidden />
    </button>
  );
  return Opened ? <Opened {...props} trigger={trigger} /> : trigger;
}
