import type { ComponentProps } from "react";
import css from "./controls.module.css";

type Look = "plain" | "filled" | "brass" | "quiet" | "danger";

/** A button with words. One filled one in view. */
export function Button({ look = "plain", className = "", ...rest }: ComponentProps<"button"> & { look?: Look }) {
  return <button type="button" className={`${css.button} ${css[look]} ${className}`} {...rest} />;
}
