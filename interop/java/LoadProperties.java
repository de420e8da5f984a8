import java.io.FileInputStream;
import java.io.InputStream;
import java.util.Properties;
import java.util.TreeMap;

/** Prints what java.util.Properties reads of a file: a line for each property, key and value as UTF-16 in hexadecimal. */
public class LoadProperties {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        try (InputStream in = new FileInputStream(arguments[0])) {
            properties.load(in);
        }
        new TreeMap<>(properties).forEach((key, value) -> System.out.println(hex((String) key) + "=" + hex((String) value)));
    }

    private static String hex(String text) {
        StringBuilder digits = new StringBuilder();
        for (char c : text.toCharArray()) {
            digits.append(String.format("%04x", (int) c));
        }
        return digits.toString();
    }
}
