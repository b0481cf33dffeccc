# RPostgreSQL: parameters as text; its errors have no SQLSTATE, so what they say is compared.
suppressPackageStartupMessages(library(RPostgreSQL))

env <- function(name) Sys.getenv(paste0("ASK_", name))
connect <- function(more) dbConnect(PostgreSQL(), dbname = paste0(
  "host=", env("HOST"), " port=", env("PORT"), " user=", env("USER"), " password='", env("PASSWORD"),
  "' dbname=", env("DATABASE"), " ", more))
session <- connect("sslmode=require")

quoted <- function(text) ifelse(is.na(text), "null", paste0("\"", gsub("([\"\\\\])", "\\\\\\1", gsub("\n", " ", text)), "\""))
listed <- function(parts) paste0("[", paste(parts, collapse = ","), "]")
ask <- function(statement, values = NULL) {
  result <- if (is.null(values)) dbSendQuery(session, statement) else dbSendQuery(session, statement, values)
  on.exit(dbClearResult(result))
  fetch(result, n = -1)
}
one <- function(...) ask(...)[1, 1]
pairs <- function(rows) listed(sprintf("[%s,%d]", quoted(rows[, 1]), as.integer(rows[, 2])))
column <- function(statement) listed(quoted(ask(statement)[, 1]))
said <- function(statement) tryCatch({
  ask(statement)
  "answered"
}, error = function(failed) conditionMessage(failed))

tables <- function() {
  own <- setdiff(dbListTables(session), ask("SELECT relname FROM pg_class WHERE relnamespace IN ('dpsql'::regnamespace, 'pg_dpsql'::regnamespace)")[, 1])
  paste0(listed(quoted(sort(own))), ",\"note\":\"lists those of the schema dpsql as well\"")
}
types <- function() {
  got <- vapply(strsplit(strsplit(env("TYPES"), "\n")[[1]], "\t"), function(part) {
    # NULL is written into the statement.
    none <- one(sub("$1", "NULL", part[2], fixed = TRUE))
    sprintf("%s:[%d,%d]", quoted(part[1]), as.integer(one(part[2], part[3])), as.integer(none))
  }, "")
  paste0("{", paste(got, collapse = ","), "},\"note\":\"has no NULL for a parameter\"")
}
refusal <- function() {
  refused <- said(env("ROWS"))
  ask(env("GROUPED"))
  if (grepl("rows of [a-z]+ are protected", refused)) "\"42501\",\"note\":\"its errors have no SQLSTATE\"" else stop(refused)
}
cursor <- function() {
  result <- dbSendQuery(session, env("GROUPED"))
  rows <- rbind(fetch(result, n = 2), fetch(result, n = 2))
  dbClearResult(result)
  paste0(pairs(rows), ",\"note\":\"reads the whole, and hands it out by two\"")
}
timeout <- function() {
  dbGetQuery(session, "SET statement_timeout = '300ms'")
  stopped <- said(env("SLOW"))
  dbGetQuery(session, "RESET statement_timeout")
  if (grepl("statement timeout", stopped)) "\"57014\",\"note\":\"its errors have no SQLSTATE\"" else stop(stopped)
}
word <- function() {
  statement <- strsplit(strsplit(env("WORDS"), "\n")[[1]][1], "\t")[[1]][2]
  paste0("{\"UTF8\":", quoted(one(statement)), "},\"note\":\"only UTF8 was tried\"")
}
tls <- function() {
  dbDisconnect(connect(paste0("sslmode=verify-full channel_binding=require sslrootcert=", env("ROOT"))))
  "\"bound\""
}

steps <- list(
  connect = function() listed(quoted(unlist(ask("SELECT current_user::text, current_database()::text")[1, ]))),
  TLS = tls,
  tables = tables,
  columns = function() listed(quoted(dbListFields(session, "trips"))),
  grouped = function() pairs(ask(env("GROUPED"))),
  lists = function() listed(c(one(env("IN"), c(1, 2)), one(env("ARRAY"), "{1,2}"))),
  types = types, refusal = refusal, cursor = cursor, timeout = timeout, encodings = word)
for (step in names(steps)) {
  told <- tryCatch(paste0("\"got\":", steps[[step]]()), error = function(failed) {
    paste0("\"failed\":", quoted(conditionMessage(failed)))
  })
  cat(sprintf("{\"step\":\"%s\",%s}\n", step, told))
}
cat("{\"step\":\"cancel\",\"none\":\"has no call that cancels\"}\n")
