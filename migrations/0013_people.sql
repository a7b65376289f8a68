CREATE TABLE `people` (
	`id` text PRIMARY KEY NOT NULL,
	`email` text,
	`name` text,
	`hash` text,
	`role` text NOT NULL,
	`site_id` integer,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	`deleted_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `people_by_email` ON `people` (`email`) WHERE deleted_at IS NULL;