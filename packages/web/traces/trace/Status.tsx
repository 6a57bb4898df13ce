import { CircleAlert, LoaderCircle } from "lucide-react";
import css from "./trace.module.css";

/** How a run went, by shape, by colour and in words. What went well needs no mark. */
export function Status({ status }: { status: string }) {
  const lower = status.toLowerCase();
  if (lower === "error")
    return (
      <span className={css.failed}>
        <CircleAlert size={14} aria-hidden />
        <span className="visually-hidden">failed</span>
      </span>
    );
  if (lower === "pending")
    return (
      <span className={css.running}>
        <LoaderCircle size={14} aria-hidden />
        <span className="visually-hidden">running</span>
      </span>
    );
  return null;
}
