CREATE TABLE `admin_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`hash` text NOT NULL,
	`name` text NOT NULL,
	`role` text NOT NULL,
	`site_id` integer,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	`deleted_at` integer
) WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `audit_log` ADD `who_kind` text;--> statement-breakpoint
ALTER TABLE `audit_log` ADD `who_id` text;--> statement-breakpoint
ALTER TABLE `audit_log` ADD `who_name` text;--> statement-breakpoint
ALTER TABLE `audit_log` ADD `address` text;--> statement-breakpoint
ALTER TABLE `console_sessions` ADD `who_kind` text;--> statement-breakpoint
ALTER TABLE `console_sessions` ADD `who_id` text;--> statement-breakpoint
ALTER TABLE `console_sessions` ADD `who_name` text;--> statement-breakpoint
ALTER TABLE `console_sessions` ADD `browser` text;--> statement-breakpoint
ALTER TABLE `console_sessions` ADD `address` text;--> statement-breakpoint
ALTER TABLE `console_sessions` ADD `last_used_at` integer;--> statement-breakpoint
ALTER TABLE `console_sessions` ADD `ended_at` integer;