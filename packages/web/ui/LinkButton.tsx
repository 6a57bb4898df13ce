import type { ComponentProps } from "react";
import css from "./controls.module.css";

/** A button that reads as a link, in a line of text. */
export function LinkButton(props: ComponentProps<"button">) {
  return <button type="button" className={css.link} {...props} />;
}
