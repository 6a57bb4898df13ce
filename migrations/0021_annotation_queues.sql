CREATE TABLE `annotation_items` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`queue_id` text NOT NULL,
	`project_id` text NOT NULL,
	`run_id` text,
	`trace_id` text,
	`thread_id` text,
	`start_time` integer,
	`added_at` integer NOT NULL,
	`last_reviewed_at` integer,
	`completed_at` integer,
	`source_proposed_example_id` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `annotation_items_run` ON `annotation_items` (`queue_id`,`run_id`) WHERE "annotation_items"."run_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `annotation_items_thread` ON `annotation_items` (`queue_id`,`project_id`,`thread_id`) WHERE "annotation_items"."thread_id" is not null;--> statement-breakpoint
CREATE INDEX `annotation_items_order` ON `annotation_items` (`queue_id`,`added_at`,`id`);--> statement-breakpoint
CREATE INDEX `annotation_items_project` ON `annotation_items` (`workspace_id`,`project_id`,`trace_id`);--> statement-breakpoint
CREATE INDEX `annotation_items_of_run` ON `annotation_items` (`workspace_id`,`run_id`);--> statement-breakpoint
CREATE TABLE `annotation_queues` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`default_dataset` text,
	`reviewers` integer NOT NULL,
	`reservation_minutes` integer,
	`instructions` text,
	`rubric` text NOT NULL,
	`metadata` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `annotation_queues_workspace` ON `annotation_queues` (`workspace_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `annotation_reviews` (
	`item_id` text NOT NULL,
	`reviewer` text NOT NULL,
	`queue_id` text NOT NULL,
	`status` text NOT NULL,
	`at` integer NOT NULL,
	`reserved_until` integer,
	`override_added_at` integer,
	PRIMARY KEY(`item_id`, `reviewer`)
);
--> statement-breakpoint
CREATE INDEX `annotation_reviews_queue` ON `annotation_reviews` (`queue_id`);