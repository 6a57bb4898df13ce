/** The types of `weir-server/offline-model`. */
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";

/** A chat model that needs no key and no network: it follows fixed rules, and says so. `delay`: milliseconds between words. */
export declare const OfflineModel: new (options: { delay: number }) => BaseChatModel;
