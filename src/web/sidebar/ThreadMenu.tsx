/** What can be done with a thread of the list. */
import { Ellipsis } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { useRef, useState } from "react";
import { useLocation } from "wouter";
import { useMay } from "../api/me.ts";
import { deleteThread } from "../api/queries.ts";
import controls from "../ui/controls.module.css";
import menu from "../ui/menu.module.css";
import { DeleteThread } from "./DeleteThread.tsx";
import css from "./Sidebar.module.css";

interface Props {
  threadId: string;
  title: string;
  /** The thread is in view. */
  current: boolean;
  onRename: () => void;
}

/** A button alone until it is pressed: the menus of a whole list take long to mount on a slow processor. */
export function ThreadMenu(props: Props) {
  const [pressed, setPressed] = useState(false);
  if (pressed) return <Menu {...props} />;
  return (
    <button
      type="button"
      className={`${controls.icon} ${css.menu}`}
      aria-label={`More about ${props.title}`}
      aria-haspopup="menu"
      aria-expanded={false}
      onClick={() => setPressed(true)}
      onKeyDown={(event) => {
        if (event.key !== "ArrowDown") return;
        event.preventDefault();
        setPressed(true);
      }}
    >
      <Ellipsis size={16} aria-hidden />
    </button>
  );
}

function Menu({ threadId, title, current, onRename }: Props) {
  const may = useMay();
  const [deleting, setDeleting] = useState(false);
  const [, navigate] = useLocation();
  const renaming = useRef(false);
  return (
    <>
      <DropdownMenu.Root modal={false} defaultOpen>
        <DropdownMenu.Trigger className={`${controls.icon} ${css.menu}`} aria-label={`More about ${title}`}>
          <Ellipsis size={16} aria-hidden />
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content
            className={menu.menu}
            align="end"
            collisionPadding={8}
            onCloseAutoFocus={(event) => renaming.current && event.preventDefault()}
          >
            <DropdownMenu.Item
              className={menu.item}
              disabled={!may("threads.write")}
              onSelect={() => {
                renaming.current = true;
                setTimeout(onRename);
              }}
            >
              Rename
            </DropdownMenu.Item>
            <DropdownMenu.Item
              className={menu.item}
              onSelect={() => void navigator.clipboard.writeText(threadId).catch(() => undefined)}
            >
              Copy thread id
            </DropdownMenu.Item>
            <DropdownMenu.Separator className={menu.rule} />
            <DropdownMenu.Item
              className={menu.item}
              disabled={!may("threads.write")}
              data-danger
              onSelect={() => setDeleting(true)}
            >
              Delete…
            </DropdownMenu.Item>
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      <DeleteThread
        open={deleting}
        onOpen={setDeleting}
        title={title}
        onDelete={async () => {
          await deleteThread(threadId);
          if (current) navigate("/chat");
        }}
      />
    </>
  );
}
