import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** Asks through pgjdbc what `asked.py` has, and prints each row as one line: what it is, then its values. */
public class Client {
    private static final String GROUPED =
        "SELECT payment_type, count(*) AS n FROM trips GROUP BY payment_type ORDER BY payment_type";

    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = DriverManager.getConnection(arguments[0], arguments[1], arguments[2])) {
            describe(connection.getMetaData());
            if (arguments.length > 3) {
                ask(connection);
                refuse(connection);
                fetchInSteps(connection);
                System.out.println("valid\t" + connection.isValid(5));
            }
        }
    }

    private static void describe(DatabaseMetaData about) throws SQLException {
        show("table", about.getTables(null, "public", "%", new String[] {"TABLE"}));
        show("column", about.getColumns(null, "public", "%", "%"));
        for (String table : new String[] {"trips", "zones"}) {
            show("key", about.getPrimaryKeys(null, "public", table));
            show("imported", about.getImportedKeys(null, "public", table));
            show("exported", about.getExportedKeys(null, "public", table));
        }
        show("type", about.getTypeInfo());
        show("product", about.getDatabaseProductName() + " " + about.getDatabaseProductVersion());
    }

    private static void ask(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            show("grouped", statement.executeQuery(GROUPED));
        }
        // From the fifth run on the statement is prepared on the server, and its rows come in binary.
        try (PreparedStatement prepared = connection.prepareStatement("SELECT count(*) FROM trips WHERE fare > ?")) {
            for (int run = 0; run < 8; run++) {
                prepared.setDouble(1, 20);
                show("parameter", prepared.executeQuery());
            }
        }
    }

    private static void refuse(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery("SELECT trip_id, fare FROM trips");
            show("refused", "not");
        } catch (SQLException failed) {
            show("refused", failed.getSQLState());
        }
    }

    private static void fetchInSteps(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(2);
            show("fetched", statement.executeQuery(GROUPED));
        }
        connection.commit();
        connection.setAutoCommit(true);
    }

    private static void show(String what, ResultSet rows) throws SQLException {
        int columns = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            List<String> values = new ArrayList<>();
            for (int column = 1; column <= columns; column++) {
                values.add(String.valueOf(rows.getObject(column)));
            }
            show(what, String.join("\t", values));
        }
    }

    private static void show(String what, String values) {
        System.out.println(what + "\t" + values);
    }
}
