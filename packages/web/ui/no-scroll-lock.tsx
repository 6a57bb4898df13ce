/**
 * Replaces `react-remove-scroll`, which Radix dialogs and menus render, in the page's bundle (see vite.config.ts). It
 * inserts a style element, which the page's Content-Security-Policy refuses. The body of this page never scrolls.
 */
import { type ElementType, type HTMLAttributes, type Ref } from "react";

interface Props extends HTMLAttributes<HTMLElement> {
  as?: ElementType;
  ref?: Ref<HTMLElement>;
  allowPinchZoom?: boolean;
  shards?: unknown;
}

export function RemoveScroll({ as: Container = "div", allowPinchZoom: _zoom, shards: _shards, ...props }: Props) {
  return <Container {...props} />;
}
