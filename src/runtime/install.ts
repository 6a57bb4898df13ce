/**
 * LangGraph's build for workerd leaves out AsyncLocalStorage, and without it `interrupt()` and the config of nested
 * graphs do not work. Import this file for its effect before any graph is built.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";

AsyncLocalStorageProviderSingleton.initializeGlobalInstance(new AsyncLocalStorage());
