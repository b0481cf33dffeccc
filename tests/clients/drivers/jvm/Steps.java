import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.UUID;

/** The twelve steps through pgjdbc. */
public class Steps {
    private interface Take {
        String take() throws Exception;
    }

    private static Connection session;

    public static void main(String[] arguments) throws SQLException {
        session = connect("sslmode=require");
        tell("connect", () -> rows("SELECT current_user, current_database()").get(0));
        tell("TLS", Steps::tls);
        tell("tables", () -> column(session.getMetaData().getTables(null, "public", "%", new String[] {"TABLE"}), 3));
        tell("columns", () -> column(session.getMetaData().getColumns(null, "public", "trips", "%"), 4));
        tell("grouped", () -> rows(env("GROUPED")).toString());
        tell("lists", () -> List.of(one(env("IN"), 1, 2), one(env("ARRAY"), value("integer[]", ""))).toString());
        tell("types", Steps::types);
        tell("refusal", () -> code(env("ROWS")) + (rows(env("GROUPED")).isEmpty() ? "nothing" : ""));
        tell("cursor", Steps::cursor);
        tell("cancel", Steps::cancel);
        tell("timeout", Steps::timeout);
        tell("encodings", Steps::encodings);
        for (String line : env("TIMES").split("\u001e")) {
            String[] part = line.split("\t");
            if (part[0].startsWith("Metabase")) {
                tell(part[0], () -> "[" + rows(part[1]) + "," + rows(part[2]) + "]");
            }
        }
    }

    private static String env(String name) {
        return System.getenv("ASK_" + name);
    }

    private static Connection connect(String more) throws SQLException {
        String where = env("HOST") + ":" + env("PORT") + "/" + env("DATABASE");
        return DriverManager.getConnection("jdbc:postgresql://" + where + "?" + more, env("USER"), env("PASSWORD"));
    }

    private static String tls() throws SQLException {
        try (Connection checked = connect("sslmode=verify-full&sslrootcert=" + env("ROOT"))) {
            checked.createStatement().executeQuery(env("GROUPED"));
        }
        return "\"bound\",\"note\":\"knows no channel binding before 42.7.4; checks certificate and name\"";
    }

    private static List<String> rows(String statement) throws SQLException {
        try (Statement asked = session.createStatement()) {
            return rows(asked.executeQuery(statement));
        }
    }

    private static List<String> rows(ResultSet found) throws SQLException {
        List<String> rows = new ArrayList<>();
        while (found.next()) {
            rows.add("[" + quoted(found.getString(1)) + "," + quoted(found.getString(2)) + "]");
        }
        return rows;
    }

    private static String column(ResultSet found, int number) throws SQLException {
        List<String> values = new ArrayList<>();
        while (found.next()) {
            values.add(quoted(found.getString(number)));
        }
        return values.toString();
    }

    private static String one(String statement, Object... values) throws SQLException {
        try (PreparedStatement asked = session.prepareStatement(statement)) {
            for (int n = 0; n < values.length; n++) {
                asked.setObject(n + 1, values[n]);
            }
            ResultSet found = asked.executeQuery();
            found.next();
            return quoted(found.getString(1));
        }
    }

    private static String types() throws SQLException {
        List<String> got = new ArrayList<>();
        for (String line : env("TYPES").split("\n")) {
            String[] part = line.split("\t");
            String both = one(part[1], value(part[0], part[2])) + "," + one(part[1], new Object[] {null});
            got.add(quoted(part[0]) + ":[" + both + "]");
        }
        return "{" + String.join(",", got) + "}";
    }

    private static Object value(String type, String text) throws SQLException {
        switch (type) {
            case "boolean": return true;
            case "smallint": return Short.valueOf(text);
            case "integer": return Integer.valueOf(text);
            case "bigint": return Long.valueOf(text);
            case "real": return Float.valueOf(text);
            case "double precision": return Double.valueOf(text);
            case "numeric": return new BigDecimal(text);
            case "date": return LocalDate.parse(text);
            case "timestamp": return LocalDate.parse("2019-03-08").atStartOfDay();
            case "timestamptz": return OffsetDateTime.parse("2019-03-08T00:00:00Z");
            case "time": return LocalTime.parse(text);
            case "uuid": return UUID.fromString(text);
            case "bytea": return new byte[] {0, 1, 2, -1};
            case "integer[]": return session.createArrayOf("integer", new Integer[] {1, 2});
            default: return text;
        }
    }

    private static String code(String statement) throws SQLException {
        try (Statement asked = session.createStatement()) {
            asked.executeQuery(statement);
        } catch (SQLException failed) {
            return quoted(failed.getSQLState());
        }
        return quoted("answered");
    }

    private static String cursor() throws SQLException {
        session.setAutoCommit(false);
        try (Statement asked = session.createStatement()) {
            asked.setFetchSize(2);
            return rows(asked.executeQuery(env("GROUPED"))).toString();
        } finally {
            session.commit();
            session.setAutoCommit(true);
        }
    }

    private static String cancel() throws SQLException {
        Timer beside = new Timer(true);
        try (Statement asked = session.createStatement()) {
            TimerTask stop = new TimerTask() {
                @Override
                public void run() {
                    try {
                        asked.cancel();
                    } catch (SQLException failed) {
                        throw new IllegalStateException(failed);
                    }
                }
            };
            beside.schedule(stop, 300, 300);
            asked.executeQuery(env("SLOW"));
        } catch (SQLException failed) {
            return quoted(failed.getSQLState());
        } finally {
            beside.cancel();
        }
        return quoted("answered");
    }

    private static String timeout() throws SQLException {
        try (Statement asked = session.createStatement()) {
            asked.execute("SET statement_timeout = '300ms'");
            String stopped = code(env("SLOW"));
            asked.execute("RESET statement_timeout");
            return stopped;
        }
    }

    private static String encodings() throws SQLException {
        String word = rows(env("WORDS").split("\n")[0].split("\t")[1]).get(0);
        return "{\"UTF8\":" + word.substring(1, word.indexOf(",")) + "},\"note\":\"speaks UTF-8 alone\"";
    }

    private static String quoted(String text) {
        return text == null ? "null" : "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ") + "\"";
    }

    private static void tell(String step, Take take) {
        String told;
        try {
            told = "\"got\":" + take.take();
        } catch (Exception failed) {
            told = "\"failed\":" + quoted(failed.toString());
        }
        System.out.println("{\"step\":" + quoted(step) + "," + told + "}");
    }
}
